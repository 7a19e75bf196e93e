// SPDX-License-Identifier: Apache-2.0
// The MPI backend, as the shared library and its tests make it. The programs load it: comm::make_world.
#pragma once

#include <cstddef>
#include <memory>

#include "libcore/comm/communicator.h"

namespace convoy::comm {

struct MpiOptions {
  std::size_t piece_bytes = std::size_t{1} << 30;   // of a message at most: MPI counts in int
  std::size_t chunk_bytes = std::size_t{4} << 20;   // of a reduction at a time, which bounds its scratch memory
  std::size_t small_bytes = std::size_t{32} << 10;  // up to so many all ranks exchange everything, in log2(ranks) steps
  double listen_seconds = 3.0;                      // how long a rank that gives up listens for what the others say
};

// Initialises MPI unless it is. The world's destruction finalises what it initialised, but not while an exception is
// under way nor after a failure: peers may sit in a collective. Throws ClusterError if MPI cannot be used by several
// threads.
std::unique_ptr<Communicator> make_mpi_world(const MpiOptions& options = {});

}  // namespace convoy::comm
