// SPDX-License-Identifier: Apache-2.0
#include "apps/ckpt/layout.h"

#include <array>
#include <map>

#include "libcore/base/error.h"
#include "libcore/checkpoint/save.h"
#include "libcore/model/shard.h"
#include "libcore/parallel/mesh.h"

namespace convoy::apps::ckpt {
namespace {

using checkpoint::PlannedFile;

constexpr int kMostRanks = 1 << 16;
constexpr std::array kStates = {checkpoint::kWeight, checkpoint::kFirstMoment, checkpoint::kSecondMoment};

// Every share of the states is a replica's, so that is how a run has them.
parallel::Layout run_layout(const LayoutArguments& layout) {
  parallel::Layout run;
  run.tensor = layout.tensor;
  run.pipeline = layout.pipeline;
  run.virtual_stages = layout.virtual_stages;
  if (layout.virtual_stages > 1) run.schedule = parallel::ScheduleKind::kInterleaved;
  run.data = layout.zero_shards;
  run.zero = 1;
  return run;
}

// The inventory's states of each name, in the order that the trainer stores them.
std::map<std::string, std::vector<std::size_t>> states_by_name(const checkpoint::Manifest& inventory) {
  std::map<std::string, std::vector<std::size_t>> states;
  for (const std::string_view state : kStates) {
    for (std::size_t i = 0; i < inventory.tensors.size(); ++i) {
      if (inventory.tensors[i].state == state) states[inventory.tensors[i].name].push_back(i);
    }
  }
  return states;
}

}  // namespace

std::vector<app::Option> layout_options(LayoutArguments& layout) {
  return {
      app::count("tensor-parallel", layout.tensor, {1, kMostRanks}, "ranks that share every matrix").in("Layout"),
      app::count("pipeline-parallel", layout.pipeline, {1, kMostRanks}, "stages that the layers are spread over")
          .in("Layout"),
      app::count("virtual-stages", layout.virtual_stages, {1, kMostRanks},
                 "chunks of layers a stage, as runs with --schedule interleaved have them")
          .in("Layout"),
      app::count("zero-shards", layout.zero_shards, {1, kMostRanks},
                 "files that each of these ranks' states are spread over; loading never depends on it")
          .in("Layout"),
  };
}

void check_layout(const LayoutArguments& layout, const model::Config& config) {
  const std::int64_t world = std::int64_t{layout.tensor} * layout.pipeline * layout.zero_shards;
  if (world > kMostRanks) {
    throw ConfigError("--tensor-parallel x --pipeline-parallel x --zero-shards is " + std::to_string(world) +
                      " files, expected at most " + std::to_string(kMostRanks));
  }
  const parallel::ModelExtents extents{.layers = config.layers,
                                       .heads = config.heads,
                                       .key_value_heads = config.key_value_heads,
                                       .ffn_width = config.ffn_width,
                                       .vocabulary = config.vocabulary};
  const std::vector<std::string> problems = parallel::layout_problems(run_layout(layout), static_cast<int>(world),
                                                                      extents, layout.zero_shards, /*micro_batch=*/1);
  if (!problems.empty()) throw ConfigError(problems);
}

std::vector<PlannedFile> files_of(const LayoutArguments& arguments, const model::Config& config,
                                  const checkpoint::Manifest& inventory) {
  const parallel::Layout layout = run_layout(arguments);
  const auto states = states_by_name(inventory);
  std::vector<std::vector<model::LocalParameter>> tables;  // of the first replica's ranks
  for (int rank = 0; rank < layout.tensor * layout.pipeline; ++rank) {
    tables.push_back(
        model::local_parameters(config, model::shards_at(config, layout, parallel::coordinates_of(layout, rank))));
  }
  std::vector<PlannedFile> files;
  for (int rank = 0; rank < layout.world(); ++rank) {
    const parallel::Coordinates at = parallel::coordinates_of(layout, rank);
    PlannedFile file{checkpoint::shard_file_name(at.tensor, at.pipeline, at.data), {}};
    for (const model::LocalParameter& parameter : tables[static_cast<std::size_t>(rank) % tables.size()]) {
      if (!parameter.primary) continue;
      const parallel::Range share = parallel::flat_partition(parameter.box.count(), layout.data, at.data);
      const std::vector<tensor::Box> boxes = tensor::boxes_of_range(parameter.box, share.begin, share.end);
      for (const std::size_t state : states.at(parameter.name)) {
        for (const tensor::Box& box : boxes) file.fragments.push_back({state, box});
      }
    }
    if (!file.fragments.empty()) files.push_back(std::move(file));  // nor does a run write an empty one
  }
  return files;
}

}  // namespace convoy::apps::ckpt
