// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/data_parallel.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/parallel/bucket_transport.h"
#include "libcore/parallel/gradient_tree.h"
#include "libcore/parallel/task_queue.h"
#include "libcore/trace/recorder.h"

namespace convoy::parallel {
namespace {

using tensor::MutableView;

constexpr std::size_t kGradientBytes = 4;  // fp32

std::vector<std::int64_t> counts_of(const std::vector<MutableView>& tensors) {
  std::vector<std::int64_t> counts;
  for (const MutableView& view : tensors) counts.push_back(view.count());
  return counts;
}

}  // namespace

struct DataParallel::State {
  State(comm::Communicator& group, std::vector<MutableView> views, std::span<const std::size_t> alone,
        const DataParallelOptions& asked);

  bool in_shares() const { return options.zero > 0 || options.tree != nullptr; }
  void add_route(const Route& route);
  void reduce(device::Stream& stream, const Route& route);
  void report(std::size_t i);
  void begin_step();

  const std::vector<MutableView> gradients;
  const DataParallelOptions options;
  BucketTransport transport;
  std::vector<Route> routes;           // in the order of their reductions
  std::vector<std::size_t> bucket_of;  // a parameter

  std::vector<char> reported;           // a parameter, in this step
  std::vector<std::size_t> unreported;  // parameters a bucket
  std::size_t startable = 0;            // buckets [0, startable) are ready
  std::size_t started = 0;              // buckets [0, started) were given to the queue

  device::Stream queue_stream{ops::cpu_backend(), 1};
  std::optional<TaskQueue> queue;  // last: it uses all of the above
};

DataParallel::State::State(comm::Communicator& group, std::vector<MutableView> views,
                           std::span<const std::size_t> alone, const DataParallelOptions& asked)
    : gradients(std::move(views)), options(asked), transport(group, asked.in_place_bytes), bucket_of(gradients.size()) {
  check(options.zero == 0 || options.zero == 1, fmt::format("ZeRO {} is none of 0 and 1", options.zero));
  for (const MutableView& view : gradients) {
    check(view.dtype == tensor::DType::kF32 && view.dense(), "gradients are dense fp32 tensors");
  }
  const std::int64_t limit = static_cast<std::int64_t>(options.bucket_bytes / kGradientBytes);
  for (const Bucket& bucket : cut_buckets(counts_of(gradients), alone, limit)) {
    for (const Route& route : transport.routes(bucket, gradients, in_shares())) add_route(route);
  }
  transport.make_room(routes);
  begin_step();
  queue_stream.set_lane({options.recorder, true});
  if (transport.is_needed() && options.overlap && !routes.empty()) queue.emplace();
}

void DataParallel::State::add_route(const Route& route) {
  for (std::size_t i = route.bucket.begin; i < route.bucket.end; ++i) bucket_of[i] = routes.size();
  routes.push_back(route);
}

void DataParallel::State::begin_step() {
  reported.assign(gradients.size(), 0);
  unreported.clear();
  for (const Route& route : routes) unreported.push_back(route.bucket.end - route.bucket.begin);
  startable = started = 0;
}

void DataParallel::State::report(std::size_t i) {
  check(i < reported.size(), "a parameter that is ready is one of the table");
  check(!reported[i], fmt::format("parameter {} is reported ready once a step", i));
  reported[i] = 1;
  --unreported[bucket_of[i]];
  while (startable < routes.size() && unreported[startable] == 0) ++startable;
}

void DataParallel::State::reduce(device::Stream& stream, const Route& route) {
  if (options.tree != nullptr) {
    options.tree->reduce(stream, route.shares);
    if (options.zero == 0) transport.gather(stream, route, gradients);
  } else if (options.zero == 0) {
    transport.reduce(stream, route, gradients);
  } else {
    transport.reduce_to_shares(stream, route, gradients);
  }
}

DataParallel::DataParallel(comm::Communicator& data, std::vector<MutableView> gradients,
                           std::span<const std::size_t> alone, const DataParallelOptions& options)
    : state_(std::make_unique<State>(data, std::move(gradients), alone, options)) {}

DataParallel::~DataParallel() = default;

Range DataParallel::share(std::size_t i) const {
  const std::int64_t count = state_->gradients.at(i).count();
  if (state_->options.zero == 0) return {0, count};
  const comm::Communicator& data = state_->transport.data();
  return flat_partition(count, data.size(), data.rank());
}

void DataParallel::ready(std::size_t begin, std::size_t end) {
  State& state = *state_;
  for (std::size_t i = begin; i < end; ++i) state.report(i);
  if (!state.queue) return;
  for (; state.started < state.startable; ++state.started) {
    const Route& route = state.routes[state.started];
    state.queue->add([&state, &route] { state.reduce(state.queue_stream, route); });
  }
}

void DataParallel::finish(device::Stream& stream) {
  State& state = *state_;
  check(state.startable == state.routes.size(), "every parameter has been reported ready before a step finishes");
  state.begin_step();
  if (state.queue) {
    const trace::PhaseScope waiting(state.options.recorder, trace::Phase::kDataComm);
    state.queue->finish();
  } else if (state.transport.is_needed()) {
    for (const Route& route : state.routes) state.reduce(stream, route);
  }
}

void DataParallel::gather(device::Stream& stream, const std::vector<MutableView>& weights) {
  State& state = *state_;
  check(weights.size() == state.gradients.size(), "each gradient has a weight");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    check(weights[i].count() == state.gradients[i].count(), fmt::format("weight {} is as large as its gradient", i));
  }
  if (state.options.zero == 0 || !state.transport.is_needed()) return;
  for (const Route& route : state.routes) state.transport.gather(stream, route, weights);
}

}  // namespace convoy::parallel
