// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"

namespace convoy::train {
namespace {

void expect_finite(const tensor::View& values, const model::Parameter& parameter, const tensor::Box& box,
                   const Path& folder) {
  const float* first = values.as<float>();
  const float* last = first + values.count();
  const float* wrong = std::find_if(first, last, [](float x) { return !std::isfinite(x); });
  if (wrong == last) return;
  throw DataError(
      fmt::format("{}: {}[{}] (counted row by row) is no finite number: the file was damaged, or the run that wrote it "
                  "had diverged; take an earlier checkpoint",
                  folder.string(), parameter.name, tensor::index_in_whole(parameter.shape, box, wrong - first)));
}

}  // namespace

tensor::DType compute_dtype(std::string_view precision) {
  if (precision == "fp16") return tensor::DType::kF16;
  return precision == "bf16" ? tensor::DType::kBF16 : tensor::DType::kF32;
}

void initialise(device::Stream& stream, const model::Parameters& parameters, std::uint64_t seed,
                optim::AdamW& optimizer) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    model::initial_values(parameters.table()[i], optimizer.share(i), seed, stream, optimizer.master(i));
  }
  optimizer.publish(stream);
}

void load(device::Stream& stream, const model::Parameters& parameters, const checkpoint::WeightSource& source,
          optim::AdamW& optimizer) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const model::LocalParameter& parameter = parameters.table()[i];
    const parallel::Range share = optimizer.share(i);
    std::int64_t begin = 0;
    for (const tensor::Box& box : tensor::boxes_of_range(parameter.box, share.begin, share.end)) {
      const tensor::MutableView part = tensor::flat_part(optimizer.master(i), begin, begin + box.count());
      source.read(parameter.name, box, tensor::reshaped(part, box.extent));
      expect_finite(part, parameter, box, source.folder());
      begin += box.count();
    }
  }
  optimizer.publish(stream);
}

DecayGroups decay_groups(const std::vector<model::Parameter>& table) {
  DecayGroups groups;
  for (const model::Parameter& parameter : table) {
    (parameter.decays ? groups.decayed_tensors : groups.other_tensors) += 1;
    (parameter.decays ? groups.decayed_parameters : groups.other_parameters) += parameter.shape.count();
  }
  return groups;
}

}  // namespace convoy::train
