// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/states.h"

#include <fmt/format.h>

#include <array>
#include <set>

#include "libcore/base/error.h"

namespace convoy::train {
namespace {

using checkpoint::Checkpoint;
using checkpoint::LocalState;
using tensor::Box;
using tensor::MutableView;

constexpr std::array<std::string_view, 3> kStates = {checkpoint::kWeight, checkpoint::kFirstMoment,
                                                     checkpoint::kSecondMoment};

// Of state `which`, this rank's share of parameter i.
MutableView share_of(const optim::AdamW& optimizer, std::size_t which, std::size_t i) {
  if (which == 0) return optimizer.master(i);
  return which == 1 ? optimizer.first_moment(i) : optimizer.second_moment(i);
}

void read_share(const Checkpoint& checkpoint, const model::LocalParameter& parameter, std::string_view state,
                const parallel::Range& share, const MutableView& out) {
  std::int64_t begin = 0;
  const MutableView flat = tensor::flat_part(out, 0, out.count());
  for (const Box& box : tensor::boxes_of_range(parameter.box, share.begin, share.end)) {
    const MutableView part = tensor::flat_part(flat, begin, begin + box.count());
    checkpoint.read(parameter.name, state, box, tensor::reshaped(part, box.extent));
    begin += box.count();
  }
}

}  // namespace

parallel::Range stored_share(std::int64_t count, const parallel::Groups& groups) {
  return parallel::flat_partition(count, groups.layout.data, groups.at.data);
}

std::vector<LocalState> local_states(const model::Parameters& parameters, const optim::AdamW& optimizer,
                                     const parallel::Groups& groups) {
  std::vector<LocalState> states;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const model::LocalParameter& parameter = parameters.table()[i];
    if (!parameter.primary) continue;
    const parallel::Range share = stored_share(parameter.box.count(), groups), held = optimizer.share(i);
    if (share.size() == 0) continue;
    check(share.begin >= held.begin && share.end <= held.end, "a rank stores what it updates");
    for (std::size_t which = 0; which < kStates.size(); ++which) {
      states.push_back(
          {parameter.name, std::string(kStates[which]), parameter.shape,
           tensor::boxes_of_range(parameter.box, share.begin, share.end),
           tensor::flat_part(share_of(optimizer, which, i), share.begin - held.begin, share.end - held.begin)});
    }
  }
  return states;
}

void load_states(device::Stream& stream, const Checkpoint& checkpoint, const model::Parameters& parameters,
                 optim::AdamW& optimizer) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (std::size_t which = 0; which < kStates.size(); ++which) {
      read_share(checkpoint, parameters.table()[i], kStates[which], optimizer.share(i), share_of(optimizer, which, i));
    }
  }
  optimizer.publish(stream);
}

std::vector<std::pair<std::string, std::string>> aliases_of(const model::Config& config) {
  if (!config.tied_embeddings) return {};
  return {{"lm_head.weight", model::parameter_table(config).front().name}};
}

void expect_model(const Checkpoint& checkpoint, const model::Config& config) {
  std::set<std::string> known;
  for (const model::Parameter& parameter : model::parameter_table(config)) {
    known.insert(parameter.name);
    for (const std::string_view state : kStates) {
      const checkpoint::StoredTensor* stored = checkpoint.find(parameter.name, state);
      if (stored == nullptr) {
        throw DataError(
            fmt::format("{}: {} of {} is missing; a run goes on only from a checkpoint with weights and "
                        "optimizer states (--init-from takes weights alone)",
                        checkpoint.path().string(), state, parameter.name));
      }
      if (stored->shape == parameter.shape) continue;
      throw DataError(fmt::format("{}: {} of {} has shape {}, but the model's is {}: it is of another model",
                                  checkpoint.path().string(), state, parameter.name, stored->shape.text(),
                                  parameter.shape.text()));
    }
  }
  for (const checkpoint::StoredTensor& stored : checkpoint.manifest().tensors) {
    if (known.contains(stored.name)) continue;
    throw DataError(fmt::format("{}: holds {}, which is no tensor of the model: it is of another model",
                                checkpoint.path().string(), stored.name));
  }
}

}  // namespace convoy::train
