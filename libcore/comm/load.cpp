// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "libcore/base/error.h"
#include "libcore/comm/self.h"

namespace convoy::comm {
namespace {

using Entry = Communicator* (*)(int interface_version);

[[noreturn]] void refuse(int ranks, const std::string& library, std::string_view reason) {
  throw EnvironmentError(fmt::format(
      "this job has {} ranks, but {}, which connects them, cannot be loaded ({}); install the MPI backend beside the "
      "programs (../lib) or where the loader finds it (LD_LIBRARY_PATH), or start one rank",
      ranks, library, reason));
}

// The library of this build or installation, if it is there; else its bare name, for the loader's own search.
std::string place_of(const std::string& library) {
  if (library.find('/') != std::string::npos) return library;
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  for (const char* folder : {"../lib", CONVOY_LIBRARY_FOLDER}) {
    const std::filesystem::path file = (program.parent_path() / folder / library).lexically_normal();
    if (!program.empty() && std::filesystem::exists(file, none)) return file;
  }
  return library;
}

// The library stays loaded until the process ends: its communicators' code is in it.
Entry load_entry(int ranks, const std::string& library) {
  void* handle = ::dlopen(place_of(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) refuse(ranks, library, ::dlerror());
  void* entry = ::dlsym(handle, kMpiEntry);
  if (entry == nullptr) refuse(ranks, library, fmt::format("it has no function {}", kMpiEntry));
  return reinterpret_cast<Entry>(entry);
}

// What a launcher and an MPI that do not know each other look like.
[[noreturn]] void refuse_size(int ranks, int connected, const std::string& library) {
  throw ClusterError(fmt::format(
      "the launcher started {} ranks, but MPI connects {}: {}", ranks, connected,
      connected == 1
          ? fmt::format("each was started alone, because {} was built for another MPI than the launcher's; "
                        "start the ranks with the mpirun of its MPI, with srun --mpi=pmix under Slurm "
                        "('srun --mpi=list' shows what there is), or build {} for the launcher's MPI",
                        library, library)
          : std::string("launcher's variables of another job are set; start the ranks with srun or mpirun")));
}

}  // namespace

std::unique_ptr<Communicator> make_world(int ranks, const std::string& library) {
  if (ranks == 1) return make_self();
  std::unique_ptr<Communicator> world(load_entry(ranks, library)(kInterfaceVersion));
  if (!world)
    refuse(ranks, library,
           fmt::format("it was built for another version of convoy; interface {} is needed", kInterfaceVersion));
  if (world->size() != ranks) refuse_size(ranks, world->size(), library);
  return world;
}

}  // namespace convoy::comm
