// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/data_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "libcore/base/error.h"
#include "libcore/device/arena.h"
#include "libcore/ops/backend.h"
#include "libcore/parallel/buckets.h"
#include "libcore/parallel/gradient_tree.h"
#include "libcore/parallel/reduction_queue.h"
#include "libcore/trace/recorder.h"

namespace convoy::parallel {
namespace {

using tensor::MutableView;

constexpr std::size_t kGradientBytes = 4;  // fp32

MutableView flat(const MutableView& view) { return tensor::reshaped(view, {view.count()}); }

std::byte* place(const MutableView& view, std::int64_t element) {
  return static_cast<std::byte*>(view.data) + static_cast<std::size_t>(element) * tensor::size_of(view.dtype);
}

enum class Direction { kToBuffer, kFromBuffer };

void copy_pieces(std::span<const Piece> pieces, const std::vector<MutableView>& tensors, const MutableView& buffer,
                 Direction direction) {
  for (const Piece& piece : pieces) {
    std::byte* of_tensor = place(tensors[piece.parameter], piece.range.begin);
    std::byte* of_buffer = place(buffer, piece.offset);
    const std::size_t bytes = static_cast<std::size_t>(piece.range.size()) * tensor::size_of(buffer.dtype);
    if (direction == Direction::kToBuffer) {
      std::memcpy(of_buffer, of_tensor, bytes);
    } else {
      std::memcpy(of_tensor, of_buffer, bytes);
    }
  }
}

// The bucket in pieces that one collective can take where they lie, from the end: tensors one right behind the other,
// or single ones where each is cut into shares of its own.
std::vector<Bucket> pieces_of(const Bucket& bucket, const std::vector<MutableView>& tensors, bool in_shares) {
  std::vector<Bucket> pieces;
  for (std::size_t i = bucket.end; i-- > bucket.begin;) {
    const std::int64_t count = tensors[i].count();
    const bool adjoins = i + 1 < bucket.end && place(tensors[i], count) == tensors[i + 1].data;
    if (!in_shares && adjoins) {
      pieces.back().begin = i;
      pieces.back().count += count;
    } else {
      pieces.push_back({i, i + 1, count});
    }
  }
  return pieces;
}

std::vector<std::int64_t> counts_of(const std::vector<MutableView>& tensors) {
  std::vector<std::int64_t> counts;
  for (const MutableView& view : tensors) counts.push_back(view.count());
  return counts;
}

// A bucket and how its tensors travel.
struct Route {
  Bucket bucket;
  RankMajor shares;     // under ZeRO 1, or in the tree
  RankMajor whole;      // one rank's: the tensors in table order
  bool staged = false;  // through the buffer
};

}  // namespace

struct DataParallel::State {
  State(comm::Communicator& group, std::vector<MutableView> views, std::span<const std::size_t> alone,
        const DataParallelOptions& asked);

  bool reduces() const { return data.size() > 1; }
  bool in_shares() const { return options.zero > 0 || options.tree != nullptr; }
  void add_route(const Bucket& bucket, std::span<const std::int64_t> counts, bool staged);
  void reduce(device::Stream& stream, const Route& route);
  void reduce_whole(device::Stream& stream, const Route& route);
  void reduce_to_shares(device::Stream& stream, const Route& route);
  void gather(device::Stream& stream, const Route& route, const std::vector<MutableView>& weights);
  MutableView buffer(const Bucket& bucket, tensor::DType dtype);
  void report(std::size_t i);
  void begin_step();

  comm::Communicator& data;
  const std::vector<MutableView> gradients;
  const DataParallelOptions options;
  std::vector<Route> routes;           // in the order of their reductions
  std::vector<std::size_t> bucket_of;  // a parameter
  device::Buffer staging;

  std::vector<char> reported;           // a parameter, in this step
  std::vector<std::size_t> unreported;  // parameters a bucket
  std::size_t startable = 0;            // buckets [0, startable) are ready

  device::Stream queue_stream{ops::cpu_backend(), 1};
  std::optional<ReductionQueue> queue;  // last: it uses all of the above
};

DataParallel::State::State(comm::Communicator& group, std::vector<MutableView> views,
                           std::span<const std::size_t> alone, const DataParallelOptions& asked)
    : data(group), gradients(std::move(views)), options(asked), bucket_of(gradients.size()) {
  check(options.zero == 0 || options.zero == 1, fmt::format("ZeRO {} is none of 0 and 1", options.zero));
  for (const MutableView& view : gradients) {
    check(view.dtype == tensor::DType::kF32 && view.dense(), "gradients are dense fp32 tensors");
  }
  const std::vector<std::int64_t> counts = counts_of(gradients);
  const std::int64_t limit = static_cast<std::int64_t>(options.bucket_bytes / kGradientBytes);
  std::size_t staged = 0;
  for (const Bucket& bucket : cut_buckets(counts, alone, limit)) {
    const std::vector<Bucket> pieces = pieces_of(bucket, gradients, in_shares());
    const std::size_t bytes = static_cast<std::size_t>(bucket.count) * kGradientBytes;
    if (pieces.size() == 1 || bytes / pieces.size() >= options.in_place_bytes) {
      for (const Bucket& piece : pieces) add_route(piece, counts, false);
    } else {
      add_route(bucket, counts, true);
      staged = std::max(staged, bytes);
    }
  }
  if (reduces() && staged > 0) staging = device::Buffer(staged, {});
  begin_step();
  queue_stream.set_lane({options.recorder, true});
  if (reduces() && options.overlap)
    queue.emplace(routes.size(), [this](std::size_t i) { reduce(queue_stream, routes[i]); });
}

void DataParallel::State::add_route(const Bucket& bucket, std::span<const std::int64_t> counts, bool staged) {
  for (std::size_t i = bucket.begin; i < bucket.end; ++i) bucket_of[i] = routes.size();
  routes.push_back({bucket, RankMajor(bucket, counts, data.size()), RankMajor(bucket, counts, 1), staged});
}

void DataParallel::State::begin_step() {
  reported.assign(gradients.size(), 0);
  unreported.clear();
  for (const Route& route : routes) unreported.push_back(route.bucket.end - route.bucket.begin);
  startable = 0;
}

void DataParallel::State::report(std::size_t i) {
  check(i < reported.size(), "a parameter that is ready is one of the table");
  check(!reported[i], fmt::format("parameter {} is reported ready once a step", i));
  reported[i] = 1;
  --unreported[bucket_of[i]];
  while (startable < routes.size() && unreported[startable] == 0) ++startable;
}

MutableView DataParallel::State::buffer(const Bucket& bucket, tensor::DType dtype) {
  const std::size_t bytes = static_cast<std::size_t>(bucket.count) * tensor::size_of(dtype);
  if (bytes > staging.size()) staging = device::Buffer(bytes, {});  // for weights wider than gradients alone
  return {staging.data(), dtype, {bucket.count}, 0};
}

void DataParallel::State::reduce(device::Stream& stream, const Route& route) {
  if (options.tree != nullptr) {
    options.tree->reduce(stream, route.shares);
    if (options.zero == 0) gather(stream, route, gradients);
  } else if (options.zero == 0) {
    reduce_whole(stream, route);
  } else {
    reduce_to_shares(stream, route);
  }
}

void DataParallel::State::reduce_whole(device::Stream& stream, const Route& route) {
  if (!route.staged) {
    const MutableView all{gradients[route.bucket.begin].data, tensor::DType::kF32, {route.bucket.count}, 0};
    data.all_reduce(stream, all, comm::Reduction::kSum);
    return;
  }
  const MutableView all = buffer(route.bucket, tensor::DType::kF32);
  copy_pieces(route.whole.pieces(), gradients, all, Direction::kToBuffer);
  data.all_reduce(stream, all, comm::Reduction::kSum);
  copy_pieces(route.whole.pieces(), gradients, all, Direction::kFromBuffer);
}

void DataParallel::State::reduce_to_shares(device::Stream& stream, const Route& route) {
  // The shares of one tensor are rank-major where they lie.
  const bool staged = route.staged;
  const MutableView all = staged ? buffer(route.bucket, tensor::DType::kF32) : flat(gradients[route.bucket.begin]);
  if (staged) copy_pieces(route.shares.pieces(), gradients, all, Direction::kToBuffer);
  const Range part = route.shares.part(data.rank());
  const MutableView mine = tensor::flat_part(all, part.begin, part.end);
  data.reduce_scatter(stream, all, mine, route.shares.counts(), comm::Reduction::kSum);
  if (staged) copy_pieces(route.shares.pieces(data.rank()), gradients, all, Direction::kFromBuffer);
}

void DataParallel::State::gather(device::Stream& stream, const Route& route, const std::vector<MutableView>& weights) {
  const tensor::DType dtype = weights[route.bucket.begin].dtype;
  for (std::size_t i = route.bucket.begin; i < route.bucket.end; ++i) {
    check(weights[i].dtype == dtype && weights[i].dense() && weights[i].count() == gradients[i].count(),
          fmt::format("weight {} is dense, of the others' dtype and as large as its gradient", i));
  }
  const bool staged = route.staged;
  const MutableView all = staged ? buffer(route.bucket, dtype) : flat(weights[route.bucket.begin]);
  if (staged) copy_pieces(route.shares.pieces(data.rank()), weights, all, Direction::kToBuffer);
  const Range part = route.shares.part(data.rank());
  data.all_gather(stream, tensor::flat_part(all, part.begin, part.end), all, route.shares.counts());
  if (staged) copy_pieces(route.shares.pieces(), weights, all, Direction::kFromBuffer);
}

DataParallel::DataParallel(comm::Communicator& data, std::vector<MutableView> gradients,
                           std::span<const std::size_t> alone, const DataParallelOptions& options)
    : state_(std::make_unique<State>(data, std::move(gradients), alone, options)) {}

DataParallel::~DataParallel() = default;

Range DataParallel::share(std::size_t i) const {
  const std::int64_t count = state_->gradients.at(i).count();
  if (state_->options.zero == 0) return {0, count};
  return flat_partition(count, state_->data.size(), state_->data.rank());
}

void DataParallel::ready(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) state_->report(i);
  if (state_->queue) state_->queue->release(state_->startable);
}

void DataParallel::finish(device::Stream& stream) {
  State& state = *state_;
  check(state.startable == state.routes.size(), "every parameter has been reported ready before a step finishes");
  state.begin_step();
  if (state.queue) {
    const trace::PhaseScope waiting(state.options.recorder, trace::Phase::kDataComm);
    state.queue->finish();
  } else if (state.reduces()) {
    for (const Route& route : state.routes) state.reduce(stream, route);
  }
}

void DataParallel::gather(device::Stream& stream, const std::vector<MutableView>& weights) {
  State& state = *state_;
  check(weights.size() == state.gradients.size(), "each gradient has a weight");
  if (state.options.zero == 0 || !state.reduces()) return;
  for (const Route& route : state.routes) state.gather(stream, route, weights);
}

}  // namespace convoy::parallel
