// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/groups.h"

#include <fmt/format.h>

#include <numeric>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

// The ranks that differ from `at` in `coordinate` alone.
std::vector<int> line_through(const Layout& layout, Coordinates at, int Coordinates::*coordinate, int extent) {
  std::vector<int> ranks;
  for (at.*coordinate = 0; at.*coordinate < extent; ++(at.*coordinate)) ranks.push_back(rank_of(layout, at));
  return ranks;
}

}  // namespace

std::vector<trace::Group> recorded_groups(const Layout& layout, int rank) {
  const Coordinates at = coordinates_of(layout, rank);
  std::vector<int> world(static_cast<std::size_t>(layout.world()));
  std::iota(world.begin(), world.end(), 0);
  std::vector<trace::Group> groups = {{trace::GroupKind::kWorld, std::move(world)}};
  const auto add = [&](trace::GroupKind kind, int Coordinates::*coordinate, int extent) {
    if (extent > 1) groups.push_back({kind, line_through(layout, at, coordinate, extent)});
  };
  add(trace::GroupKind::kTensor, &Coordinates::tensor, layout.tensor);
  add(trace::GroupKind::kPipeline, &Coordinates::pipeline, layout.pipeline);
  add(trace::GroupKind::kData, &Coordinates::data, layout.data);
  if (layout.pipeline > 1 && (at.pipeline == 0 || at.pipeline == layout.pipeline - 1)) {
    const std::vector<int> stages = line_through(layout, at, &Coordinates::pipeline, layout.pipeline);
    groups.push_back({trace::GroupKind::kPipelineEnds, {stages.front(), stages.back()}});
  }
  return groups;
}

Groups make_groups(comm::Communicator& world, const Layout& layout) {
  check(world.size() == layout.world(),
        fmt::format("a mesh of {} ranks is laid over {} ranks", layout.world(), world.size()));
  const Coordinates at = coordinates_of(layout, world.rank());
  // Ranks that differ in one coordinate alone share the color that the other two make.
  const auto color = [](int slow, int fast, int extent_of_fast) { return slow * extent_of_fast + fast; };
  Groups groups;
  groups.layout = layout;
  groups.at = at;
  groups.world = &world;
  groups.tensor = world.split(color(at.data, at.pipeline, layout.pipeline), at.tensor, "tensor");
  const int replica = color(at.data, at.tensor, layout.tensor);
  groups.pipeline = world.split(replica, at.pipeline, "pipeline");
  groups.data = world.split(color(at.pipeline, at.tensor, layout.tensor), at.data, "data");
  const bool is_end = layout.pipeline > 1 && (groups.first_stage() || groups.last_stage());
  groups.pipeline_ends = world.split(is_end ? replica : -1, at.pipeline, "pipeline-ends");
  groups.tensor->set_kind(trace::GroupKind::kTensor);
  groups.pipeline->set_kind(trace::GroupKind::kPipeline);
  groups.data->set_kind(trace::GroupKind::kData);
  if (groups.pipeline_ends) groups.pipeline_ends->set_kind(trace::GroupKind::kPipelineEnds);
  return groups;
}

}  // namespace convoy::parallel
