// SPDX-License-Identifier: Apache-2.0
#include "apps/ckpt/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "libcore/base/error.h"

namespace convoy::apps::ckpt {
namespace {

using checkpoint::Manifest;
using checkpoint::StoredTensor;
using tensor::DType;

// The moments are those of the model's tensors: weights alone were held against it.
void check_states(const Source& source) {
  if (source.checkpoint() == nullptr) return;
  for (const StoredTensor& tensor : source.checkpoint()->manifest().tensors) {
    const StoredTensor* weight = source.checkpoint()->find(tensor.name, checkpoint::kWeight);
    if (weight != nullptr && weight->shape == tensor.shape) continue;
    throw DataError(fmt::format("{}: {} of {} has the shape {}, which no weight of that name has",
                                source.folder().string(), tensor.state, tensor.name, tensor.shape.text()));
  }
}

}  // namespace

Source open_source(const std::string& path) {
  Source source{checkpoint::WeightSource(path), {}, {}};
  source.config = model::parse_config(source.weights.model_config(), source.weights.config_name());
  source.table = model::parameter_table(source.config);
  source.weights.expect(checkpoint::expected_tensors(source.table), source.config.tied_embeddings);
  check_states(source);
  return source;
}

Source open_checkpoint(const std::string& path) {
  Source source = open_source(path);
  if (source.checkpoint() != nullptr) return source;
  throw ConfigError(
      fmt::format("{}: is a Hugging Face folder, expected a checkpoint (a step directory, or a run directory); "
                  "`convoy-ckpt import` makes one of it",
                  path));
}

Manifest inventory_of(const Source& source) {
  if (source.checkpoint() != nullptr) return source.checkpoint()->manifest();
  Manifest inventory;
  inventory.files.push_back({.name = source.folder().filename().string()});
  for (const model::Parameter& parameter : source.table) {
    inventory.tensors.push_back({.name = parameter.name,
                                 .state = std::string(checkpoint::kWeight),
                                 .dtype = source.weights.dtype(parameter.name),
                                 .shape = parameter.shape});
  }
  std::sort(inventory.tensors.begin(), inventory.tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < inventory.tensors.size(); ++i)
    inventory.fragments.push_back({i, 0, tensor::whole(inventory.tensors[i].shape), 0, {}});
  return inventory;
}

bool has_digests(const Source& source) { return source.checkpoint() != nullptr; }

void read_box(const Source& source, const Manifest& inventory, std::size_t tensor, const tensor::Box& box,
              tensor::MutableView out) {
  const StoredTensor& stored = inventory.tensors[tensor];
  if (source.checkpoint() != nullptr) return source.checkpoint()->read(stored.name, stored.state, box, out);
  source.weights.read(stored.name, box, out);
}

DType widest_dtype(const Source& source) {
  std::set<DType> seen;
  for (const model::Parameter& parameter : source.table) seen.insert(source.weights.dtype(parameter.name));
  // Neither half type holds the other's values.
  if (seen.size() > 1) return DType::kF32;
  return *seen.begin();
}

std::string_view torch_name(DType dtype) {
  if (dtype == DType::kBF16) return "bfloat16";
  return dtype == DType::kF16 ? "float16" : "float32";
}

app::Option source_operand(std::string& target, const std::string& name) {
  return app::positional(name, target, "a run directory (its newest step), a step directory, or a Hugging Face folder");
}

app::Option checkpoint_operand(std::string& target) {
  return app::positional("CKPT", target, "a run directory (its newest step), or a step directory");
}

}  // namespace convoy::apps::ckpt
