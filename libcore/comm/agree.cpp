// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/agree.h"

#include <algorithm>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/comm/call.h"

namespace convoy::comm {

Verdict agree(Communicator& group, device::Stream& stream, int code, const std::string& message) {
  const auto size = static_cast<std::size_t>(group.size());
  std::vector<std::int64_t> mine = {code, static_cast<std::int64_t>(message.size())}, all(2 * size);
  const std::vector<std::int64_t> counts(size, 2);
  group.all_gather(stream, {mine.data(), tensor::DType::kI64, {2}, 0},
                   {all.data(), tensor::DType::kI64, {static_cast<std::int64_t>(all.size())}, 0}, counts);
  Verdict verdict;
  for (std::size_t rank = size; rank-- > 0;) {
    if (all[2 * rank] == 0) continue;
    ++verdict.failed;
    verdict.code = static_cast<int>(all[2 * rank]);
    verdict.rank = static_cast<int>(rank);
  }
  if (verdict.failed == 0) return verdict;
  const std::int64_t length = all[2 * static_cast<std::size_t>(verdict.rank) + 1];
  verdict.message = verdict.rank == group.rank() ? message : std::string(static_cast<std::size_t>(length), ' ');
  group.broadcast(stream, {verdict.message.data(), tensor::DType::kU8, {length}, 0}, verdict.rank);
  return verdict;
}

void together(Communicator& world, device::Stream& stream, const std::function<void()>& body) {
  if (world.size() == 1) return body();
  int code = 0;
  std::string message;
  try {
    body();
  } catch (const std::exception& error) {
    code = static_cast<int>(exit_code_of(error));
    message = error.what();
  }
  const Verdict verdict = agree(world, stream, code, message);
  if (verdict.failed == 0) return;
  const std::string place = verdict.failed == world.size() ? "" : world.place_of(verdict.rank) + ": ";
  throw AgreedError(static_cast<ExitCode>(verdict.code), place + verdict.message);
}

}  // namespace convoy::comm
