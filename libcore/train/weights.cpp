// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"

namespace convoy::train {
namespace {

void expect_finite(const tensor::View& values, const Path& folder, const std::string& name) {
  const float* first = values.as<float>();
  const float* last = first + values.count();
  const float* wrong = std::find_if(first, last, [](float x) { return !std::isfinite(x); });
  if (wrong == last) return;
  throw DataError(
      fmt::format("{}: {}[{}] (counted row by row) is no finite number: the file was damaged, or the run that wrote it "
                  "had diverged; take an earlier checkpoint",
                  folder.string(), name, wrong - first));
}

}  // namespace

std::vector<checkpoint::ExpectedTensor> expected_tensors(const std::vector<model::Parameter>& table) {
  std::vector<checkpoint::ExpectedTensor> expected;
  for (const model::Parameter& parameter : table) expected.push_back({parameter.name, parameter.shape});
  return expected;
}

void initialise(device::Stream& stream, const model::Parameters& parameters, std::uint64_t seed,
                optim::AdamW& optimizer) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    model::initial_values(parameters.table()[i], optimizer.share(i), seed, stream, optimizer.master(i));
  }
  optimizer.publish(stream);
}

void load(device::Stream& stream, const model::Parameters& parameters, const checkpoint::HfFolder& folder,
          optim::AdamW& optimizer) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const model::LocalParameter& parameter = parameters.table()[i];
    folder.read(parameter.name, tensor::reshaped(optimizer.master(i), parameter.shape));
    expect_finite(optimizer.master(i), folder.folder(), parameters.table()[i].name);
  }
  optimizer.publish(stream);
}

void save(const Path& folder, const model::Config& config, const model::Parameters& parameters,
          const optim::AdamW& optimizer) {
  std::vector<checkpoint::NamedTensor> tensors;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    tensors.push_back({parameters.table()[i].name, tensor::reshaped(optimizer.master(i), parameters.table()[i].shape)});
  ensure_directory(folder.parent_path());
  AtomicDirectory directory(folder);
  checkpoint::write_hf_folder(directory.temporary(), tensors,
                              {.dtype = tensor::DType::kF32, .config_json = model::to_json(config, "float32")});
  directory.commit();
}

void dump_gradients(const Path& file, const model::Parameters& parameters) {
  std::vector<checkpoint::NamedTensor> tensors;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    tensors.push_back({parameters.table()[i].name, parameters.gradient(i)});
  ensure_directory(file.parent_path());
  checkpoint::write_hf_tensors(file, tensors, tensor::DType::kF32);
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
