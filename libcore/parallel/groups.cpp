// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/groups.h"

#include <fmt/format.h>

#include "libcore/base/error.h"

namespace convoy::parallel {

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
  return groups;
}

}  // namespace convoy::parallel
