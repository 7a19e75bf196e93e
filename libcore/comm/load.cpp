// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "libcore/base/error.h"
#include "libcore/comm/self.h"

namespace convoy::comm {
namespace {

using Entry = Communicator* (*)(int interface_version);

[[noreturn]] void refuse(int ranks, const std::string& library, std::string_view reason) {
  throw EnvironmentError(
      fmt::format("this job has {} ranks, but {}, which connects them, cannot be loaded ({}); install the MPI backend "
                  "where the loader finds it (LD_LIBRARY_PATH), or start one rank",
                  ranks, library, reason));
}

// The library stays loaded until the process ends: its communicators' code is in it.
Entry load_entry(int ranks, const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) refuse(ranks, library, ::dlerror());
  void* entry = ::dlsym(handle, kMpiEntry);
  if (entry == nullptr) refuse(ranks, library, fmt::format("it has no function {}", kMpiEntry));
  return reinterpret_cast<Entry>(entry);
}

}  // namespace

std::unique_ptr<Communicator> make_world(int ranks, const std::string& library) {
  if (ranks == 1) return make_self();
  std::unique_ptr<Communicator> world(load_entry(ranks, library)(kInterfaceVersion));
  if (!world)
    refuse(ranks, library,
           fmt::format("it was built for another version of convoy; interface {} is needed", kInterfaceVersion));
  if (world->size() != ranks) {
    throw ClusterError(fmt::format(
        "the launcher started {} ranks, but MPI connects {}; {} was built for another MPI than the launcher's", ranks,
        world->size(), library));
  }
  return world;
}

}  // namespace convoy::comm
