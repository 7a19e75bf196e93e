// SPDX-License-Identifier: Apache-2.0
// Texts between the ranks of a save, and failures that all of them throw. Every function is collective over `world`.
// Private to the module.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/comm/communicator.h"

namespace convoy::checkpoint {

struct Failure {
  ExitCode code = ExitCode::kEnvironment;
  std::string message;
};
Failure failure_of(const std::exception& error);

// Throws on every rank, the same, if any rank has a failure: the first's message, with its rank and host, and which
// other ranks failed.
void agree(comm::Communicator& world, device::Stream& stream, const std::optional<Failure>& mine);

// Rank 0's text, on all ranks.
std::string broadcast_text(comm::Communicator& world, device::Stream& stream, const std::string& text);
// The texts of all ranks, in rank order, on rank 0; empty elsewhere.
std::vector<std::string> gather_texts(comm::Communicator& world, device::Stream& stream, const std::string& mine);
std::int64_t sum_of(comm::Communicator& world, device::Stream& stream, std::int64_t mine);

}  // namespace convoy::checkpoint
