// SPDX-License-Identifier: Apache-2.0
// Programs of several ranks as a user would start them, with a limit on their time.
#pragma once

#include <string>
#include <vector>

#include "tests/support/run_program.h"

namespace convoy::support {

// `arguments` (the program first) on `ranks` ranks under mpirun, more than there are cores if need be. After `seconds`
// all of it is killed: exit code 124. Not bound to cores: two such jobs at a time would be bound to the same ones.
inline ProgramCall mpi_call(int ranks, const std::vector<std::string>& arguments, int seconds = 120) {
  ProgramCall call;
  call.arguments = {
      "timeout", "--kill-after=5",     std::to_string(seconds), "mpirun", "--oversubscribe", "--bind-to", "none",
      "-n",      std::to_string(ranks)};
  call.arguments.insert(call.arguments.end(), arguments.begin(), arguments.end());
  call.environment = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  return call;
}

}  // namespace convoy::support
