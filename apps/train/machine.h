// SPDX-License-Identifier: Apache-2.0
// What convoy-train needs to know of the machine, from libcore/cluster.
#pragma once

#include <cstdint>
#include <optional>

#include "libcore/config/validate.h"
#include "libcore/train/run_directory.h"

namespace convoy::apps::train {

// Throws ConfigError if the launcher's variables make no sense.
config::MachineFacts machine_facts();
convoy::train::Identity identity();

// Threads for a command that runs alone: `given`, else OMP_NUM_THREADS, else every core that this process may use.
int sampling_threads(std::optional<std::int64_t> given);

}  // namespace convoy::apps::train
