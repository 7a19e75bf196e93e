// SPDX-License-Identifier: Apache-2.0
#include "tests/support/made_checkpoint.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "libcore/base/checksum.h"
#include "libcore/checkpoint/reshard.h"
#include "libcore/checkpoint/save.h"
#include "libcore/model/parameters.h"

namespace convoy::support {
namespace {

using checkpoint::Manifest;

constexpr float kChange = 0.125f;

float step_of(std::int64_t index) { return static_cast<float>(index % 8191) * 0x1p-13f; }

Manifest inventory_of(const model::Config& config, const std::string& config_json, const MadeCheckpoint& made) {
  Manifest inventory;
  inventory.description.model_config = config_json;
  inventory.description.progress.step = made.step;
  inventory.description.progress.update = made.step;
  inventory.description.progress.consumed_samples = 8 * made.step;
  inventory.description.fingerprint = {{"seed", "1"}};
  const std::vector<model::Parameter> table = model::parameter_table(config);
  if (config.tied_embeddings) inventory.description.aliases = {{"lm_head.weight", table.front().name}};
  for (const model::Parameter& parameter : table) {
    for (const char* state : {"exp_avg", "exp_avg_sq", "weight"})
      inventory.tensors.push_back({parameter.name, state, tensor::DType::kF32, parameter.shape, 0});
  }
  std::sort(inventory.tensors.begin(), inventory.tensors.end(),
            [](const auto& a, const auto& b) { return std::pair(a.name, a.state) < std::pair(b.name, b.state); });
  inventory.files.push_back({"made", 0, 0});
  for (std::size_t i = 0; i < inventory.tensors.size(); ++i)
    inventory.fragments.push_back({i, 0, tensor::whole(inventory.tensors[i].shape), 0, {}});
  return inventory;
}

// Values of a box of rows: what the copying asks for here, where every tensor goes to one file whole.
void fill(const checkpoint::StoredTensor& stored, const tensor::Box& box, const MadeCheckpoint& made, float* out) {
  std::int64_t first = 0;
  for (int d = 0; d < stored.shape.rank(); ++d) first = first * stored.shape[d] + box.offset[d];
  const float offset = made_value(stored.name, stored.state, 0);
  for (std::int64_t i = 0; i < box.count(); ++i) out[i] = offset + step_of(first + i);
  if (made.changed_name != stored.name || made.changed_state != stored.state) return;
  if (made.changed_index >= first && made.changed_index < first + box.count())
    out[made.changed_index - first] += kChange;
}

}  // namespace

float made_value(const std::string& name, const std::string& state, std::int64_t index) {
  const std::uint64_t key = xxh3_64(name + " " + state) % 1024;
  return static_cast<float>(key) * 0x1p-6f + step_of(index);
}

void make_checkpoint(const std::filesystem::path& folder, const std::string& config_json, const MadeCheckpoint& made) {
  const model::Config config = model::parse_config(config_json, "the test's config.json");
  const Manifest inventory = inventory_of(config, config_json, made);
  checkpoint::PlannedFile file{checkpoint::shard_file_name(0, 0, 0), {}};
  for (std::size_t i = 0; i < inventory.tensors.size(); ++i)
    file.fragments.push_back({i, tensor::whole(inventory.tensors[i].shape)});
  const checkpoint::ReshardPlan plan = checkpoint::plan_reshard(inventory, {file});
  std::filesystem::create_directories(folder.parent_path());
  AtomicDirectory directory(folder);
  const Manifest result = checkpoint::execute_reshard(
      inventory, false, plan, {},
      [&](std::size_t tensor, const tensor::Box& box, tensor::MutableView out) {
        fill(inventory.tensors[tensor], box, made, out.as<float>());
      },
      directory.temporary(), {.memory = checkpoint::kLeastReshardMemory, .threads = 1, .piece = 1 << 20}, {});
  checkpoint::write_manifest(directory.temporary(), result);
  directory.commit();
}

}  // namespace convoy::support
