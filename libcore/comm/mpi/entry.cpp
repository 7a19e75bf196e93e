// SPDX-License-Identifier: Apache-2.0
// What comm::make_world looks for in libconvoy_mpi.so.
#include "libcore/comm/load.h"
#include "libcore/comm/mpi/world.h"

extern "C" __attribute__((visibility("default"))) convoy::comm::Communicator* convoy_mpi_world(int interface_version) {
  return interface_version == convoy::comm::kInterfaceVersion ? convoy::comm::make_mpi_world().release() : nullptr;
}
