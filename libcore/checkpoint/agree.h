// SPDX-License-Identifier: Apache-2.0
// Failures of a save that all of its ranks throw. Every function but failure_of is collective over `world`. Private to
// the module.
#pragma once

#include <exception>
#include <optional>
#include <string>

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

std::int64_t sum_of(comm::Communicator& world, device::Stream& stream, std::int64_t mine);

}  // namespace convoy::checkpoint
