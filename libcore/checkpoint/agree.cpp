// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/agree.h"

#include <fmt/format.h>

#include <numeric>

#include "libcore/checkpoint/shard_io.h"

namespace convoy::checkpoint {
namespace {

using tensor::DType;
using tensor::MutableView;
using tensor::Shape;
using tensor::View;

MutableView view_of(std::int64_t& number) {
  return {.data = &number, .dtype = DType::kI64, .shape = Shape{1}, .row_stride = 0};
}

MutableView view_of(std::string& text) {
  return {.data = text.data(),
          .dtype = DType::kU8,
          .shape = Shape{static_cast<std::int64_t>(text.size())},
          .row_stride = 0};
}

std::vector<std::int64_t> gather_sizes(comm::Communicator& world, device::Stream& stream, std::int64_t mine) {
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<std::int64_t> sizes(ranks), ones(ranks, 1);
  const MutableView whole{.data = sizes.data(), .dtype = DType::kI64, .shape = Shape{world.size()}, .row_stride = 0};
  world.all_gather(stream, view_of(mine), whole, ones);
  stream.synchronize();
  return sizes;
}

[[noreturn]] void raise(ExitCode code, const std::string& message) {
  if (code == ExitCode::kEnvironment) throw EnvironmentError(message);
  if (code == ExitCode::kData) throw DataError(message);
  if (code == ExitCode::kUsage) throw ConfigError(message);
  throw InternalError(message);
}

}  // namespace

Failure failure_of(const std::exception& error) { return {exit_code_of(error), error.what()}; }

void agree(comm::Communicator& world, device::Stream& stream, const std::optional<Failure>& mine) {
  std::string text;
  if (mine) {
    text = fmt::format("{:03}", static_cast<int>(mine->code));
    text += world.size() == 1 ? mine->message
                              : fmt::format("rank {} on host {}: {}", world.rank(), host_name(), mine->message);
  }
  const std::vector<std::int64_t> sizes = gather_sizes(world, stream, static_cast<std::int64_t>(text.size()));
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (total == 0) return;
  std::string all(static_cast<std::size_t>(total), '\0');
  world.all_gather(stream, view_of(text), view_of(all), sizes);
  stream.synchronize();
  std::string first, others;
  for (std::size_t rank = 0, at = 0; rank < sizes.size(); at += static_cast<std::size_t>(sizes[rank++])) {
    if (sizes[rank] == 0) continue;
    if (first.empty()) {
      first = all.substr(at, static_cast<std::size_t>(sizes[rank]));
    } else {
      others += fmt::format("{} {}", others.empty() ? "" : ",", rank);
    }
  }
  if (!others.empty()) others = fmt::format(" (failed too: ranks{})", others);
  raise(static_cast<ExitCode>(std::stoi(first.substr(0, 3))), first.substr(3) + others);
}

std::string broadcast_text(comm::Communicator& world, device::Stream& stream, const std::string& text) {
  auto size = static_cast<std::int64_t>(text.size());
  world.broadcast(stream, view_of(size), 0);
  stream.synchronize();
  std::string result = text;
  result.resize(static_cast<std::size_t>(size));
  if (size > 0) world.broadcast(stream, view_of(result), 0);
  stream.synchronize();
  return result;
}

std::vector<std::string> gather_texts(comm::Communicator& world, device::Stream& stream, const std::string& mine) {
  const std::vector<std::int64_t> sizes = gather_sizes(world, stream, static_cast<std::int64_t>(mine.size()));
  std::string text = mine;
  if (world.rank() != 0) {
    if (!text.empty()) world.send(stream, view_of(text), 0);
    stream.synchronize();
    return {};
  }
  std::vector<std::string> texts = {text};
  for (int rank = 1; rank < world.size(); ++rank) {
    texts.emplace_back(static_cast<std::size_t>(sizes[static_cast<std::size_t>(rank)]), '\0');
    if (!texts.back().empty()) world.receive(stream, view_of(texts.back()), rank);
  }
  stream.synchronize();
  return texts;
}

std::int64_t sum_of(comm::Communicator& world, device::Stream& stream, std::int64_t mine) {
  world.all_reduce(stream, view_of(mine), comm::Reduction::kSum);
  stream.synchronize();
  return mine;
}

}  // namespace convoy::checkpoint
