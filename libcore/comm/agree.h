// SPDX-License-Identifier: Apache-2.0
// One outcome for all ranks, where some may have failed, so that all go on, or all stop and say the same; and the texts
// that ranks tell each other. Every function is collective over its group.
#pragma once

#include <string>
#include <vector>

#include "libcore/comm/communicator.h"

namespace convoy::comm {

struct Verdict {
  std::vector<int> failed;  // ranks, ascending; empty: all is well
  int code = 0;             // exit code of the first of them
  std::string message;      // what it says
  bool alike = false;       // every rank of the group failed, with this code and message
};

// Every rank calls it with its own exit code (0: all is well) and message, and gets the same verdict.
Verdict agree(Communicator& group, device::Stream& stream, int code, const std::string& message);

// Rank `root`'s text, on all ranks.
std::string broadcast_text(Communicator& group, device::Stream& stream, const std::string& text, int root);
// The texts of all ranks in rank order: on every rank, or on `root` alone and nothing elsewhere.
std::vector<std::string> all_gather_texts(Communicator& group, device::Stream& stream, const std::string& text);
std::vector<std::string> gather_texts(Communicator& group, device::Stream& stream, const std::string& text, int root);

}  // namespace convoy::comm
