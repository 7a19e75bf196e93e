// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"

namespace convoy::train {
namespace {

using tensor::DType;

struct Failure {
  std::int64_t code = 0;
  std::string message;
  std::exception_ptr exception;
};

Failure attempt(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const std::exception& error) {
    return {static_cast<std::int64_t>(exit_code_of(error)), error.what(), std::current_exception()};
  }
}

[[noreturn]] void throw_with_code(std::int64_t code, const std::string& message) {
  switch (static_cast<ExitCode>(code)) {
    case ExitCode::kUsage:
      throw ConfigError(message);
    case ExitCode::kData:
      throw DataError(message);
    case ExitCode::kNumerics:
      throw NumericsError(message);
    case ExitCode::kCommunication:
      throw ClusterError(message);
    case ExitCode::kEnvironment:
      throw EnvironmentError(message);
    default:
      throw InternalError(message);
  }
}

template <class Value>
std::vector<Value> gather_one(comm::Communicator& world, device::Stream& stream, Value value, DType dtype) {
  std::vector<Value> all(static_cast<std::size_t>(world.size()));
  const std::vector<std::int64_t> counts(all.size(), 1);
  world.all_gather(stream, {&value, dtype, {1}}, {all.data(), dtype, {world.size()}, 0}, counts);
  return all;
}

device::Stream small_stream() { return {ops::cpu_backend(), 1}; }

}  // namespace

void Agreement::all(const std::function<void()>& work) {
  const Failure mine = attempt(work);
  device::Stream stream = small_stream();
  const std::vector<std::int64_t> codes = gather_one(world_, stream, mine.code, DType::kI64);
  const auto failed = std::find_if(codes.begin(), codes.end(), [](std::int64_t code) { return code != 0; });
  if (failed == codes.end()) return;
  shared_ = true;
  if (world_.size() == 1) std::rethrow_exception(mine.exception);
  const auto rank = static_cast<int>(failed - codes.begin());
  const std::string message = broadcast_text(world_, mine.message, rank);
  const std::string node = broadcast_text(world_, node_, rank);
  const std::int64_t same = mine.code == *failed && mine.message == message ? 1 : 0;
  const std::vector<std::int64_t> alike = gather_one(world_, stream, same, DType::kI64);
  const bool common = std::all_of(alike.begin(), alike.end(), [](std::int64_t one) { return one == 1; });
  throw_with_code(*failed, common ? message : fmt::format("rank {} on {}: {}", rank, node, message));
}

void Agreement::root(const std::function<void()>& work) {
  const Failure mine = is_root() ? attempt(work) : Failure{};
  device::Stream stream = small_stream();
  std::int64_t code = mine.code;
  world_.broadcast(stream, {&code, DType::kI64, {1}, 0}, 0);
  if (code == 0) return;
  shared_ = true;
  const std::string message = broadcast_text(world_, mine.message, 0);
  if (is_root()) std::rethrow_exception(mine.exception);
  throw_with_code(code, message);
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
  std::int64_t size = static_cast<std::int64_t>(text.size());
  world.broadcast(stream, {&size, DType::kI64, {1}, 0}, root);
  std::string received = world.rank() == root ? text : std::string(static_cast<std::size_t>(size), ' ');
  if (size > 0) world.broadcast(stream, {received.data(), DType::kU8, {size}, 0}, root);
  return received;
}

std::vector<std::string> gather_texts(comm::Communicator& world, const std::string& text) {
  device::Stream stream = small_stream();
  const std::vector<std::int64_t> sizes =
      gather_one(world, stream, static_cast<std::int64_t>(text.size()), DType::kI64);
  std::string all(static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})), ' ');
  world.all_gather(stream, {text.data(), DType::kU8, {sizes[static_cast<std::size_t>(world.rank())]}},
                   {all.data(), DType::kU8, {static_cast<std::int64_t>(all.size())}, 0}, sizes);
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (const std::int64_t size : sizes) {
    texts.push_back(all.substr(begin, static_cast<std::size_t>(size)));
    begin += static_cast<std::size_t>(size);
  }
  return texts;
}

}  // namespace convoy::train
