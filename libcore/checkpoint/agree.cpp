// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/agree.h"

#include <fmt/format.h>

#include "libcore/base/host.h"
#include "libcore/comm/agree.h"

namespace convoy::checkpoint {

Failure failure_of(const std::exception& error) { return {exit_code_of(error), error.what()}; }

void agree(comm::Communicator& world, device::Stream& stream, const std::optional<Failure>& mine) {
  std::string text;
  if (mine && world.size() == 1) text = mine->message;
  if (mine && world.size() > 1) text = fmt::format("rank {} on host {}: {}", world.rank(), host_name(), mine->message);
  const comm::Verdict verdict = comm::agree(world, stream, mine ? static_cast<int>(mine->code) : 0, text);
  if (verdict.failed.empty()) return;
  std::string others;
  for (std::size_t i = 1; i < verdict.failed.size(); ++i)
    others += fmt::format("{} {}", others.empty() ? "" : ",", verdict.failed[i]);
  if (!others.empty()) others = fmt::format(" (failed too: ranks{})", others);
  throw_error(static_cast<ExitCode>(verdict.code), verdict.message + others);
}

std::int64_t sum_of(comm::Communicator& world, device::Stream& stream, std::int64_t mine) {
  world.all_reduce(stream, {&mine, tensor::DType::kI64, {1}, 0}, comm::Reduction::kSum);
  stream.synchronize();
  return mine;
}

}  // namespace convoy::checkpoint
