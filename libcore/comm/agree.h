// SPDX-License-Identifier: Apache-2.0
// One outcome for all ranks, where some may have failed: so that all go on, or all stop and say the same.
#pragma once

#include <functional>
#include <string>

#include "libcore/comm/communicator.h"

namespace convoy::comm {

struct Verdict {
  int code = 0;         // exit code of the first rank that failed; 0: none did
  int rank = -1;        // that rank
  int failed = 0;       // how many did
  std::string message;  // what that rank says
};

// Every rank calls it with its own exit code (0: all is well) and message, and gets the same verdict.
Verdict agree(Communicator& group, device::Stream& stream, int code, const std::string& message);

// Runs `body` on every rank, each of which calls this. If it throws on any, every rank throws an AgreedError with the
// exit code and the message of the first such rank, which the message names unless all failed. `body` makes no call
// of the world that a rank could miss by throwing before it.
void together(Communicator& world, device::Stream& stream, const std::function<void()>& body);

}  // namespace convoy::comm
