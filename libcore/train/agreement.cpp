// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/agreement.h"

#include <fmt/format.h>

#include <exception>

#include "libcore/base/error.h"
#include "libcore/comm/agree.h"
#include "libcore/ops/backend.h"

namespace convoy::train {
namespace {

struct Failure {
  int code = 0;
  std::string message;
  std::exception_ptr exception;
};

Failure attempt(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const std::exception& error) {
    return {static_cast<int>(exit_code_of(error)), error.what(), std::current_exception()};
  }
}

device::Stream small_stream() { return {ops::cpu_backend(), 1}; }

}  // namespace

void Agreement::all(const std::function<void()>& work) {
  const Failure mine = attempt(work);
  device::Stream stream = small_stream();
  stream.set_lane(lane_);
  const comm::Verdict verdict = comm::agree(world_, stream, mine.code, mine.message);
  if (verdict.failed.empty()) return;
  shared_ = true;
  if (world_.size() == 1) std::rethrow_exception(mine.exception);
  const int rank = verdict.failed.front();
  const std::string node = comm::broadcast_text(world_, stream, node_, rank);
  throw_error(static_cast<ExitCode>(verdict.code),
              verdict.alike ? verdict.message : fmt::format("rank {} on {}: {}", rank, node, verdict.message));
}

void Agreement::root(const std::function<void()>& work) {
  const Failure mine = is_root() ? attempt(work) : Failure{};
  device::Stream stream = small_stream();
  stream.set_lane(lane_);
  const comm::Verdict verdict = comm::agree(world_, stream, mine.code, mine.message);
  if (verdict.failed.empty()) return;
  shared_ = true;
  if (is_root()) std::rethrow_exception(mine.exception);
  throw_error(static_cast<ExitCode>(verdict.code), verdict.message);
}

void Agreement::alike(const std::function<void()>& work) {
  try {
    work();
  } catch (const ClusterError&) {
    throw;  // what a rank says of a lost peer, it says for itself
  } catch (...) {
    shared_ = true;
    throw;
  }
}

std::string broadcast_text(comm::Communicator& world, const std::string& text, int root) {
  device::Stream stream = small_stream();
  return comm::broadcast_text(world, stream, text, root);
}

std::vector<std::string> gather_texts(comm::Communicator& world, const std::string& text) {
  device::Stream stream = small_stream();
  return comm::all_gather_texts(world, stream, text);
}

}  // namespace convoy::train
