// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "libcore/base/error.h"
#include "libcore/comm/call.h"
#include "libcore/trace/recorder.h"

namespace convoy::comm {
namespace {

using tensor::DType;
using trace::CommunicationScope;
using trace::Operation;

void expect_dense(const tensor::View& view, const char* what) {
  check(view.present() || view.count() == 0, fmt::format("{} needs a buffer", what));
  check(view.dense(), fmt::format("{} needs a dense tensor", what));
}

std::size_t bytes_of(const tensor::View& view) {
  return static_cast<std::size_t>(view.count()) * tensor::size_of(view.dtype);
}

void expect_reducible(DType dtype, const char* what) {
  check(dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI64 || dtype == DType::kBF16 ||
            dtype == DType::kF16,
        fmt::format("{} reduces fp32, fp64, bf16, fp16 and i64, not {}", what, tensor::name_of(dtype)));
}

}  // namespace

Communicator::Communicator(int rank, int size, std::string name) : rank_(rank), size_(size), name_(std::move(name)) {
  check(size >= 1 && rank >= 0 && rank < size, fmt::format("a communicator has ranks: {} of {} is none", rank, size));
  sends_.resize(static_cast<std::size_t>(size));
  receives_.resize(static_cast<std::size_t>(size));
}

trace::CommunicationCall Communicator::collective(trace::Operation operation, std::size_t bytes) {
  return {.operation = operation, .group = kind_, .sequence = ++collectives_, .bytes = bytes};
}

trace::CommunicationCall Communicator::message(trace::Operation operation, std::size_t bytes, int peer) {
  std::vector<std::int64_t>& counts = operation == trace::Operation::kSend ? sends_ : receives_;
  return {.operation = operation,
          .group = kind_,
          .sequence = ++counts[static_cast<std::size_t>(peer)],
          .bytes = bytes,
          .peer = peer};
}

void Communicator::expect_peer(int peer, const char* what) const {
  check(peer >= 0 && peer < size_, fmt::format("{} names rank {} of {}", what, peer, size_));
}

void Communicator::expect_parts(const tensor::View& whole, const tensor::View& mine,
                                std::span<const std::int64_t> counts, const char* what) const {
  expect_dense(whole, what);
  expect_dense(mine, what);
  check(whole.dtype == mine.dtype, fmt::format("{} has parts of {} of a whole of {}", what, tensor::name_of(mine.dtype),
                                               tensor::name_of(whole.dtype)));
  check(counts.size() == static_cast<std::size_t>(size_),
        fmt::format("{} has {} counts for {} ranks", what, counts.size(), size_));
  check(std::all_of(counts.begin(), counts.end(), [](std::int64_t count) { return count >= 0; }),
        fmt::format("{} has a negative count", what));
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  check(total == whole.count(),
        fmt::format("{} has counts of {} elements for a whole of {}", what, total, whole.count()));
  check(counts[static_cast<std::size_t>(rank_)] == mine.count(),
        fmt::format("{} has a part of {} elements where the count is {}", what, mine.count(),
                    counts[static_cast<std::size_t>(rank_)]));
}

void Communicator::all_reduce(device::Stream& stream, const tensor::MutableView& data, Reduction reduction) {
  expect_dense(data, "all_reduce");
  expect_reducible(data.dtype, "all_reduce");
  const CommunicationScope scope(lane_for(stream.lane()), collective(Operation::kAllReduce, bytes_of(data)));
  do_all_reduce(stream, data, reduction);
}

void Communicator::reduce_scatter(device::Stream& stream, const tensor::View& whole, const tensor::MutableView& mine,
                                  std::span<const std::int64_t> counts, Reduction reduction) {
  expect_parts(whole, mine, counts, "reduce_scatter");
  expect_reducible(whole.dtype, "reduce_scatter");
  const CommunicationScope scope(lane_for(stream.lane()), collective(Operation::kReduceScatter, bytes_of(whole)));
  do_reduce_scatter(stream, whole, mine, counts, reduction);
}

void Communicator::all_gather(device::Stream& stream, const tensor::View& mine, const tensor::MutableView& whole,
                              std::span<const std::int64_t> counts) {
  expect_parts(whole, mine, counts, "all_gather");
  const CommunicationScope scope(lane_for(stream.lane()), collective(Operation::kAllGather, bytes_of(whole)));
  do_all_gather(stream, mine, whole, counts);
}

void Communicator::broadcast(device::Stream& stream, const tensor::MutableView& data, int root) {
  expect_dense(data, "broadcast");
  expect_peer(root, "broadcast");
  const CommunicationScope scope(lane_for(stream.lane()), collective(Operation::kBroadcast, bytes_of(data)));
  do_broadcast(stream, data, root);
}

void Communicator::send(device::Stream& stream, const tensor::View& data, int to) {
  expect_dense(data, "send");
  expect_peer(to, "send");
  check(to != rank_, "a rank does not send to itself");
  const CommunicationScope scope(lane_for(stream.lane()), message(Operation::kSend, bytes_of(data), to));
  do_send(stream, data, to);
}

void Communicator::receive(device::Stream& stream, const tensor::MutableView& data, int from) {
  expect_dense(data, "receive");
  expect_peer(from, "receive");
  check(from != rank_, "a rank does not receive from itself");
  const CommunicationScope scope(lane_for(stream.lane()), message(Operation::kReceive, bytes_of(data), from));
  do_receive(stream, data, from);
}

void Communicator::barrier(const trace::Lane& lane) {
  const CommunicationScope scope(lane_for(lane), collective(Operation::kBarrier, 0));
  do_barrier();
}

std::unique_ptr<Communicator> Communicator::split(int color, int key, const std::string& name) {
  std::unique_ptr<Communicator> group = do_split(color, key, name);
  if (!group) return nullptr;
  group->set_watchdog(watchdog_seconds_);
  group->nodes_ = nodes_;
  group->kind_ = kind_;
  return group;
}

void Communicator::set_nodes(std::vector<std::string> nodes) {
  nodes_ = std::make_shared<const std::vector<std::string>>(std::move(nodes));
}

std::string Communicator::place_of(int world_rank) const { return rank_text(world_rank, nodes()); }

void Communicator::end_job(int exit_code) noexcept { do_end_job(exit_code); }

}  // namespace convoy::comm
