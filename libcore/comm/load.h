// SPDX-License-Identifier: Apache-2.0
// The group of all ranks of the job. One rank needs nothing; more load the MPI backend, libconvoy_mpi.so, which is the
// only file that a site rebuilds for its own MPI.
#pragma once

#include <memory>
#include <string>

#include "libcore/comm/communicator.h"

namespace convoy::comm {

// The backend exports, with C linkage: convoy::comm::Communicator* convoy_mpi_world(int interface_version), which
// initialises MPI and returns the world, owned by the caller, or null if it was built for another version of this
// interface.
constexpr int kInterfaceVersion = 4;
constexpr const char* kMpiLibrary = "libconvoy_mpi.so";
constexpr const char* kMpiEntry = "convoy_mpi_world";

// `ranks`: how many the launcher started (cluster::read_launch). A `library` without a folder is looked for beside the
// program, in ../lib, before the loader searches. Throws EnvironmentError if there are several and the
// backend cannot be loaded, ClusterError if it sees another number of ranks than the launcher.
std::unique_ptr<Communicator> make_world(int ranks, const std::string& library = kMpiLibrary);

}  // namespace convoy::comm
