// SPDX-License-Identifier: Apache-2.0
// The communicators of a mesh: one for each dimension through this rank, and the one that ties the two ends of the
// pipeline.
#pragma once

#include <memory>

#include "libcore/comm/communicator.h"
#include "libcore/parallel/mesh.h"

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

// Every rank of `world` calls it with the same layout; world.size() == layout.world().
Groups make_groups(comm::Communicator& world, const Layout& layout);

}  // namespace convoy::parallel
