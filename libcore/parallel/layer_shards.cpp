// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/layer_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/optimizer.h"
#include "libcore/parallel/bucket_transport.h"
#include "libcore/parallel/task_queue.h"
#include "libcore/trace/recorder.h"

namespace convoy::parallel {
namespace {

using tensor::MutableView;

constexpr std::size_t kElementBytes = 4;  // that a bucket's size is counted in

}  // namespace

struct LayerShards::State {
  State(comm::Communicator& group, ShardedTensors all, const DataParallelOptions& asked);

  std::vector<Route> routes_of(const Unit& unit, std::span<const MutableView> views) const;
  void add_gradient_routes(const Unit& unit);
  std::int64_t run(std::function<void()> exchange);
  void wait(std::int64_t exchange);
  void add_to_shares(const Route& route);
  void gather(std::size_t unit);
  void request(std::size_t unit);
  std::size_t room_of(std::size_t unit) const;

  const ShardedTensors tensors;
  const DataParallelOptions options;
  BucketTransport transport;
  std::size_t slots = 0;
  std::vector<std::size_t> unit_of;               // a parameter
  std::vector<std::vector<Route>> weight_routes;  // a unit
  std::vector<Route> gradient_routes;
  std::vector<std::size_t> gradient_route_of;  // a parameter
  std::vector<std::size_t> unreported;         // parameters a gradient route, in this micro-batch

  // By room: the last exchange that empties it of gradients; which unit's weights it has, from which exchange on.
  std::vector<std::int64_t> emptied, arrived;
  std::vector<std::size_t> present;

  device::Stream stream{ops::cpu_backend(), 1};
  std::int64_t exchanges = 0;      // where there is no queue
  std::optional<TaskQueue> queue;  // last: it uses all of the above
};

LayerShards::State::State(comm::Communicator& group, ShardedTensors all, const DataParallelOptions& asked)
    : tensors(std::move(all)), options(asked), transport(group, asked.in_place_bytes) {
  const Sharding& sharding = tensors.sharding;
  if (!sharding.gradients && !sharding.weights) return;
  gradient_route_of.resize(tensors.gradients.size());
  for (std::size_t u = 0; u < tensors.units.size(); ++u) {
    const Unit& unit = tensors.units[u];
    check(unit.begin == unit_of.size() && unit.begin < unit.end, "units cut the table without a rest");
    unit_of.resize(unit.end, u);
    slots = std::max(slots, static_cast<std::size_t>(unit.slot + 1));
    weight_routes.push_back(routes_of(unit, tensors.weights));
    if (sharding.gradients) add_gradient_routes(unit);
  }
  check(unit_of.size() == tensors.weights.size(), "units cut the table without a rest");
  for (const std::vector<Route>& routes : weight_routes) transport.make_room(routes);
  transport.make_room(gradient_routes);
  const std::size_t rooms = slots + tensors.units.size();
  emptied.assign(rooms, 0);
  arrived.assign(rooms, 0);
  present.assign(rooms, kNone);
  stream.set_lane({options.recorder, options.overlap});
  if (options.overlap) queue.emplace();
}

// Buckets do not reach over the border of a unit, so that one is complete with its unit at the latest.
std::vector<Route> LayerShards::State::routes_of(const Unit& unit, std::span<const MutableView> views) const {
  std::vector<std::int64_t> counts;
  for (std::size_t i = unit.begin; i < unit.end; ++i) counts.push_back(views[i].count());
  std::vector<Route> routes;
  const auto limit = static_cast<std::int64_t>(options.bucket_bytes / kElementBytes);
  for (Bucket bucket : cut_buckets(counts, {}, limit)) {
    bucket.begin += unit.begin, bucket.end += unit.begin;
    for (Route& route : transport.routes(bucket, views, true)) routes.push_back(std::move(route));
  }
  return routes;
}

void LayerShards::State::add_gradient_routes(const Unit& unit) {
  for (Route& route : routes_of(unit, tensors.gradients)) {
    for (std::size_t i = route.bucket.begin; i < route.bucket.end; ++i) gradient_route_of[i] = gradient_routes.size();
    unreported.push_back(route.bucket.end - route.bucket.begin);
    gradient_routes.push_back(std::move(route));
  }
}

std::int64_t LayerShards::State::run(std::function<void()> exchange) {
  if (queue) return queue->add(std::move(exchange));
  exchange();
  return ++exchanges;
}

void LayerShards::State::wait(std::int64_t exchange) {
  if (!queue || queue->is_done(exchange)) return;
  const trace::PhaseScope waiting(options.recorder, trace::Phase::kDataComm);
  queue->wait(exchange);
}

// Layers' rooms first, then those of units that have their own.
std::size_t LayerShards::State::room_of(std::size_t unit) const {
  const int slot = tensors.units[unit].slot;
  return slot >= 0 ? static_cast<std::size_t>(slot) : slots + unit;
}

void LayerShards::State::add_to_shares(const Route& route) {
  transport.reduce_to_shares(stream, route, tensors.gradients);
  for (std::size_t i = route.bucket.begin; i < route.bucket.end; ++i) {
    const MutableView& whole = tensors.gradients[i];
    const Range share = tensors.sharding.share(whole.count());
    if (share.size() > 0)
      ops::add(stream, tensor::flat_part(whole, share.begin, share.end), tensors.gradient_shares[i]);
    ops::fill_zero(stream, whole);
  }
}

void LayerShards::State::gather(std::size_t unit) {
  for (std::size_t i = tensors.units[unit].begin; i < tensors.units[unit].end; ++i) {
    const MutableView& whole = tensors.weights[i];
    const Range share = tensors.sharding.share(whole.count());
    if (share.size() == 0) continue;
    const MutableView own = tensor::flat_part(whole, share.begin, share.end);
    std::memcpy(own.data, tensors.weight_shares[i].data,
                static_cast<std::size_t>(share.size()) * tensor::size_of(whole.dtype));
  }
  for (const Route& route : weight_routes[unit]) transport.gather(stream, route, tensors.weights);
}

void LayerShards::State::request(std::size_t unit) {
  const std::size_t room = room_of(unit);
  if (present[room] == unit) return;
  present[room] = unit;
  arrived[room] = run([this, unit] { gather(unit); });
}

LayerShards::LayerShards(comm::Communicator& data, ShardedTensors tensors, const DataParallelOptions& options)
    : state_(std::make_unique<State>(data, std::move(tensors), options)) {}

LayerShards::~LayerShards() = default;

void LayerShards::gradients_needed(std::size_t index) {
  State& state = *state_;
  if (!state.tensors.sharding.gradients) return;
  const std::size_t unit = state.unit_of[index];
  // The unit's own exchange also covers what of it has room of its own.
  state.wait(std::max(state.emptied[state.room_of(unit)], state.emptied[state.slots + unit]));
}

void LayerShards::ready(std::size_t begin, std::size_t end) {
  State& state = *state_;
  for (std::size_t i = begin; i < end; ++i) {
    const Route& route = state.gradient_routes.at(state.gradient_route_of.at(i));
    std::size_t& unreported = state.unreported[state.gradient_route_of[i]];
    if (--unreported > 0) continue;
    unreported = route.bucket.end - route.bucket.begin;
    const std::int64_t exchange = state.run([&state, &route] { state.add_to_shares(route); });
    const std::size_t unit = state.unit_of[i];
    state.emptied[state.room_of(unit)] = state.emptied[state.slots + unit] = exchange;
  }
}

void LayerShards::finish() {
  State& state = *state_;
  for (std::size_t i = 0; i < state.gradient_routes.size(); ++i) {
    const Bucket& bucket = state.gradient_routes[i].bucket;
    check(state.unreported[i] == bucket.end - bucket.begin,
          fmt::format("parameters {} to {} are reported as often as each other", bucket.begin, bucket.end - 1));
  }
  if (!state.queue) return;
  const trace::PhaseScope waiting(state.options.recorder, trace::Phase::kDataComm);
  state.queue->finish();
}

void LayerShards::weights_needed(std::size_t index, std::size_t next) {
  State& state = *state_;
  if (!state.tensors.sharding.weights) return;
  const std::size_t unit = state.unit_of[index];
  state.request(unit);
  if (state.queue && next != kNone && state.room_of(state.unit_of[next]) != state.room_of(unit))
    state.request(state.unit_of[next]);
  state.wait(state.arrived[state.room_of(unit)]);
}

void LayerShards::weights_changed(device::Stream& stream) {
  State& state = *state_;
  std::fill(state.present.begin(), state.present.end(), kNone);
  if (state.tensors.sharding.weights || !state.tensors.sharding.gradients) return;
  for (const std::vector<Route>& routes : state.weight_routes) {
    for (const Route& route : routes) state.transport.gather(stream, route, state.tensors.weights);
  }
}

}  // namespace convoy::parallel
