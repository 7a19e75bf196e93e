// SPDX-License-Identifier: Apache-2.0
// A whole training run over the ranks of a job: directory, records, loop, and the state that is left behind whatever
// happens.
#pragma once

#include <chrono>
#include <functional>

#include "libcore/base/exit_code.h"
#include "libcore/cluster/signals.h"
#include "libcore/comm/communicator.h"
#include "libcore/config/validate.h"
#include "libcore/train/record.h"
#include "libcore/train/run_directory.h"

namespace convoy::train {

// One rank of a job.
struct Rank {
  comm::Communicator& world;
  Identity identity;
  config::MachineFacts machine;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();  // of the program
  std::function<cluster::StopReason()> stop_requested = {};                        // of this process
};

// Collective: every rank calls it with the same options. Trains to the end (kDone) or until it is stopped (kRequeue,
// with a committed checkpoint). Throws on every rank what any of them cannot do; status.json then says `failed`, with
// the reason and the exit code. A failure that the others cannot know of ends the whole job: with MPI this does not
// return.
ExitCode run(const config::RunOptions& options, const Rank& rank, const Invocation& invocation);

}  // namespace convoy::train
