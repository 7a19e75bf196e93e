// SPDX-License-Identifier: Apache-2.0
// Groups of threads in one process: N ranks for tests, sanitizers and check-layout, with the semantics (and the bits)
// of the real ones.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "libcore/comm/communicator.h"

namespace convoy::comm {

// One world of `ranks` ranks; element r is rank r's, to be used by one thread.
std::vector<std::unique_ptr<Communicator>> make_thread_world(int ranks);

// Runs body(world) on `ranks` threads and waits for all. When one throws, the calls of the others throw too, and the
// first rank's original exception is rethrown here. `watchdog_seconds` bounds every wait.
void run_ranks(int ranks, const std::function<void(Communicator& world)>& body, double watchdog_seconds = 60.0);

}  // namespace convoy::comm
