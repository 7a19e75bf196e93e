// SPDX-License-Identifier: Apache-2.0
// What convoy-train needs to know of the machine, from libcore/cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "libcore/cluster/environment.h"
#include "libcore/comm/communicator.h"
#include "libcore/config/validate.h"
#include "libcore/train/run_directory.h"

namespace convoy::apps::train {

// Collective: the ranks find out with whom they share their cores. Throws ConfigError if OMP_NUM_THREADS is no number.
config::MachineFacts machine_facts(comm::Communicator& world, const cluster::Launch& launch);
// Collective: why the ranks, as the launcher spread them over the nodes, cannot train; empty if they can.
std::string spread_problem(comm::Communicator& world, const cluster::Launch& launch);
convoy::train::Identity identity(const cluster::Launch& launch);

// The launch as the launcher's variables tell it; that of a process started alone where they make no sense, which the
// command itself will say.
cluster::Launch launch_of_process();

// Threads for a command that runs alone: `given`, else OMP_NUM_THREADS, else every core that this process may use.
int sampling_threads(std::optional<std::int64_t> given);

}  // namespace convoy::apps::train
