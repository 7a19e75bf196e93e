// SPDX-License-Identifier: Apache-2.0
// The communicators of a mesh: one for each dimension through this rank, and the one that ties the two ends of the
// pipeline.
#pragma once

#include <memory>
#include <vector>

#include "libcore/comm/communicator.h"
#include "libcore/parallel/mesh.h"
#include "libcore/trace/format.h"

namespace convoy::parallel {

struct Groups {
  Layout layout;
  Coordinates at;                                     // of this rank
  comm::Communicator* world = nullptr;                // borrowed
  std::unique_ptr<comm::Communicator> tensor;         // rank in it = at.tensor
  std::unique_ptr<comm::Communicator> pipeline;       // rank in it = at.pipeline
  std::unique_ptr<comm::Communicator> data;           // rank in it = at.data
  std::unique_ptr<comm::Communicator> pipeline_ends;  // first and last stage; null on the others and with one stage

  bool first_stage() const { return at.pipeline == 0; }
  bool last_stage() const { return at.pipeline == layout.pipeline - 1; }
};

// The groups of rank `rank` as a trace names them, by their ranks of the world, in the groups' order; those of one rank
// are left out, but for the world. Pure.
std::vector<trace::Group> recorded_groups(const Layout& layout, int rank);

// Every rank of `world` calls it with the same layout; world.size() == layout.world().
Groups make_groups(comm::Communicator& world, const Layout& layout);

}  // namespace convoy::parallel
