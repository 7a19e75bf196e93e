// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/synth_replay.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "libcore/base/random.h"

namespace convoy::analysis {
namespace {

using trace::GroupKind;
using trace::Operation;
using trace::Phase;
using trace::StepRecord;

// What a healthy step is made of, as shares of it. Computation has the rest.
constexpr double kDataShare = 0.02, kOptimizerShare = 0.06, kOtherShare = 0.005, kVoteShare = 0.001;
constexpr double kTensorShare = 0.10, kMessagesShare = 0.02, kBucketShare = 0.03;
constexpr double kEvaluationShare = 0.4, kCheckpointShare = 0.6;  // beside the step
constexpr double kBackwardOverForward = 2.0;
constexpr double kLastStage = 1.2;  // of the others: the head
constexpr double kFirstStep = 1.5;  // memory is touched for the first time
constexpr int kCallsALayer = 2;     // all_reduces of tensor parallelism, in each direction
constexpr std::uint64_t kActivationBytes = std::uint64_t{4} << 20, kBucketBytes = std::uint64_t{50} << 20;

std::uint64_t nanoseconds(double seconds) { return static_cast<std::uint64_t>(std::llround(seconds * 1e9)); }

// Piece `index` of `count` whose sizes differ by 1 at most and add up to `total`.
std::uint64_t piece(std::uint64_t total, std::uint64_t index, std::uint64_t count) {
  return total / count + (index < total % count ? 1 : 0);
}

// The order of one stage.
std::vector<StageAction> order_of(int stage, int stages, int micro_batches) {
  std::vector<StageAction> order;
  const int ahead = std::min(micro_batches, stages - 1 - stage);
  for (int i = 0; i < ahead; ++i) order.push_back({stage, false, i});
  for (int i = 0; i < micro_batches; ++i) {
    if (ahead + i < micro_batches) order.push_back({stage, false, ahead + i});
    order.push_back({stage, true, i});
  }
  return order;
}

trace::Event event_from(std::uint64_t start, std::uint64_t end) {
  trace::Event event;
  event.start_ns = start;
  event.flags = trace::kComplete;
  set_duration(event, end - start);
  return event;
}

std::size_t place(int stage, int micro_batch, int micro_batches) {
  return static_cast<std::size_t>(stage) * static_cast<std::size_t>(micro_batches) +
         static_cast<std::size_t>(micro_batch);
}

}  // namespace

std::vector<StageAction> one_forward_one_backward(int stages, int micro_batches) {
  std::vector<std::vector<StageAction>> orders;
  for (int stage = 0; stage < stages; ++stage) orders.push_back(order_of(stage, stages, micro_batches));
  std::vector<bool> forward(place(stages, 0, micro_batches)), backward(forward.size());
  std::vector<std::size_t> next(orders.size());
  std::vector<StageAction> all;
  const auto is_ready = [&](const StageAction& action) {
    if (action.backward && action.stage + 1 < stages)
      return static_cast<bool>(backward[place(action.stage + 1, action.micro_batch, micro_batches)]);
    if (!action.backward && action.stage > 0)
      return static_cast<bool>(forward[place(action.stage - 1, action.micro_batch, micro_batches)]);
    return true;
  };
  while (all.size() < 2 * forward.size()) {
    for (std::size_t stage = 0; stage < orders.size(); ++stage) {
      for (; next[stage] < orders[stage].size() && is_ready(orders[stage][next[stage]]); ++next[stage]) {
        const StageAction& action = orders[stage][next[stage]];
        (action.backward ? backward : forward)[place(action.stage, action.micro_batch, micro_batches)] = true;
        all.push_back(action);
      }
    }
  }
  return all;
}

trace::Coordinates synth_coordinates(const SynthOptions& options, int rank) {
  return {.tensor = rank % options.tensor,
          .pipeline = rank / options.tensor % options.pipeline,
          .data = rank / options.tensor / options.pipeline};
}

std::vector<trace::Group> synth_groups(const SynthOptions& options, int rank) {
  const trace::Coordinates at = synth_coordinates(options, rank);
  const auto members = [&](int first, int stride, int count) {
    std::vector<int> ranks;
    for (int i = 0; i < count; ++i) ranks.push_back(first + i * stride);
    return ranks;
  };
  const int replica = options.tensor * options.pipeline;
  std::vector<trace::Group> groups = {{GroupKind::kWorld, members(0, 1, replica * options.data)}};
  if (options.tensor > 1) groups.push_back({GroupKind::kTensor, members(rank - at.tensor, 1, options.tensor)});
  if (options.pipeline > 1) {
    groups.push_back({GroupKind::kPipeline, members(at.data * replica + at.tensor, options.tensor, options.pipeline)});
  }
  if (options.data > 1) groups.push_back({GroupKind::kData, members(rank - at.data * replica, replica, options.data)});
  return groups;
}

Replay::Replay(const SynthOptions& options)
    : options_(options), actions_(one_forward_one_backward(options.pipeline, options.micro_batches)) {
  plan_costs();
  const int world = options_.tensor * options_.pipeline * options_.data;
  ranks_.resize(static_cast<std::size_t>(world));
  world_.resize(ranks_.size());
  std::iota(world_.begin(), world_.end(), 0);
  for (const trace::Group& group : synth_groups(options_, 0)) groups_.push_back(group.kind);
  const std::size_t arrivals =
      place(options_.pipeline, 0, options_.micro_batches) * static_cast<std::size_t>(options_.tensor);
  forward_arrival_.resize(arrivals);
  backward_arrival_.resize(arrivals);
}

// The last stage, which works longest, sets the pace; the others' pipeline fills before it.
void Replay::plan_costs() {
  const double step = options_.step_seconds;
  const double slots = options_.pipeline > 1 ? options_.pipeline - 1 + options_.micro_batches * kLastStage
                                             : static_cast<double>(options_.micro_batches);
  double rest = 1.0 - kDataShare - kOptimizerShare - kOtherShare - 2 * kVoteShare;
  costs_.data = nanoseconds(kDataShare * step);
  costs_.optimizer = nanoseconds(kOptimizerShare * step);
  costs_.other = nanoseconds(kOtherShare * step);
  costs_.evaluation = nanoseconds(kEvaluationShare * step);
  costs_.checkpoint = nanoseconds(kCheckpointShare * step);
  costs_.vote = nanoseconds(kVoteShare * step);
  if (options_.tensor > 1) {
    rest -= kTensorShare;
    costs_.tensor_transfer = nanoseconds(kTensorShare * step / (slots * options_.layers * 2 * kCallsALayer));
  }
  if (options_.pipeline > 1) {
    rest -= kMessagesShare;
    costs_.message = nanoseconds(kMessagesShare * step / (slots * 4));
  }
  if (options_.data > 1) {
    rest -= kBucketShare;
    costs_.bucket = nanoseconds(kBucketShare * step);
  }
  for (int stage = 0; stage < options_.pipeline; ++stage) {
    const double weight = options_.pipeline > 1 && stage == options_.pipeline - 1 ? kLastStage : 1.0;
    const double both = rest * step / slots * weight * options_.micro_batches;
    costs_.forward.push_back(nanoseconds(both / (1.0 + kBackwardOverForward)));
    costs_.backward.push_back(nanoseconds(both * kBackwardOverForward / (1.0 + kBackwardOverForward)));
  }
}

void Replay::advance(bool keep_events) {
  ++step_;
  keep_events_ = keep_events;
  for (Rank& rank : ranks_) {
    rank.record = StepRecord{.step = static_cast<std::uint64_t>(step_), .start_ns = rank.now};
    rank.events.clear();
  }
  draw_own_work();
  apply_faults();
  work(Phase::kData);
  for (int replica = 0; replica < options_.data; ++replica) {
    for (const StageAction& action : actions_) run_action(replica, action);
  }
  reduce_gradients();
  vote(Phase::kOther);
  work(Phase::kOptimizer);
  for (const Phase phase : {Phase::kEvaluation, Phase::kCheckpoint}) {
    if (ranks_[0].own[static_cast<std::size_t>(phase)] == 0) continue;
    work(phase);
    vote(phase);
    for (Rank& rank : ranks_) rank.record.flags |= phase == Phase::kEvaluation ? trace::kEvaluated : trace::kSaved;
  }
  work(Phase::kOther);
  vote(Phase::kOther);
  for (Rank& rank : ranks_) {
    rank.record.duration_ns = rank.now - rank.record.start_ns;
    if (step_ == 1) rank.record.flags |= trace::kFirst;
    std::ranges::stable_sort(rank.events, {}, &trace::Event::start_ns);
  }
}

// One block of random numbers has a rank's whole step.
void Replay::draw_own_work() {
  const std::uint64_t key = stream_key(options_.seed, "synth:jitter"), rare = stream_key(options_.seed, "synth:rare");
  const auto due = [this](std::int64_t every) { return every > 0 && (step_ % every == 0 || step_ == options_.steps); };
  const auto drawn = [this](std::uint64_t cost, float normal) {
    const double warm_up = step_ == 1 ? kFirstStep : 1.0;
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(cost) * warm_up * std::exp(options_.jitter * static_cast<double>(normal))));
  };
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const std::uint64_t block = static_cast<std::uint64_t>(step_) * ranks_.size() + i;
    const auto normals = normal_block(key, block);
    const auto stage = static_cast<std::size_t>(synth_coordinates(options_, static_cast<int>(i)).pipeline);
    auto& own = ranks_[i].own;
    const auto set = [&own](Phase phase, std::uint64_t value) { own[static_cast<std::size_t>(phase)] = value; };
    set(Phase::kData, drawn(costs_.data, normals[0]));
    set(Phase::kForward, drawn(costs_.forward[stage], normals[1]));
    set(Phase::kBackward, drawn(costs_.backward[stage], normals[2]));
    set(Phase::kOptimizer, drawn(costs_.optimizer, normals[3]));
    set(Phase::kOther, costs_.other);
    const bool evaluates = due(options_.evaluate_every), saves = due(options_.checkpoint_every);
    const auto more = evaluates || saves ? normal_block(rare, block) : std::array<float, 4>{};
    set(Phase::kEvaluation, evaluates ? drawn(costs_.evaluation, more[0]) : 0);
    set(Phase::kCheckpoint, saves ? drawn(costs_.checkpoint, more[1]) : 0);
  }
}

void Replay::apply_faults() {
  for (const SynthFault& fault : options_.faults) {
    std::uint64_t& own = at(fault.rank).own[static_cast<std::size_t>(fault.phase)];
    if (step_ < fault.first || step_ > fault.last || own == 0) continue;
    own = static_cast<std::uint64_t>(std::llround(static_cast<double>(own) * fault.factor)) +
          nanoseconds(fault.sleep_seconds);
  }
}

void Replay::work(Phase phase) {
  for (Rank& rank : ranks_) {
    const std::uint64_t own = rank.own[static_cast<std::size_t>(phase)];
    rank.record[phase].wall_ns += own;
    rank.now += own;
  }
}

void Replay::run_action(int replica, const StageAction& action) {
  receive(replica, action);
  compute(replica, action);
  send(replica, action);
}

void Replay::receive(int replica, const StageAction& action) {
  const int from = action.backward ? action.stage + 1 : action.stage - 1;
  if (from < 0 || from == options_.pipeline) return;
  const Call call = {Operation::kReceive, GroupKind::kPipeline, action.backward ? kFromNext : kFromBefore,
                     kActivationBytes, action.backward ? Phase::kBackward : Phase::kForward};
  const std::size_t first =
      place(action.stage, action.micro_batch, options_.micro_batches) * static_cast<std::size_t>(options_.tensor);
  for (int tensor = 0; tensor < options_.tensor; ++tensor) {
    Rank& rank = at(rank_of(replica, action.stage, tensor));
    const std::uint64_t arrival =
        (action.backward ? backward_arrival_ : forward_arrival_)[first + static_cast<std::size_t>(tensor)];
    const std::uint64_t end = std::max(rank.now, arrival) + costs_.message;
    rank.record[Phase::kPipelineComm].wall_ns += end - rank.now;
    note(rank, call, rank.now, end, from, false);
    rank.now = end;
  }
}

// A layer is computed in two halves, each followed by an all_reduce over the tensor group.
void Replay::compute(int replica, const StageAction& action) {
  const Phase phase = action.backward ? Phase::kBackward : Phase::kForward;
  const int halves = options_.tensor > 1 ? options_.layers * kCallsALayer : 2;
  const Call call = {Operation::kAllReduce, GroupKind::kTensor, kTensorCalls, kActivationBytes, phase};
  const int first = rank_of(replica, action.stage, 0);
  const std::span<const int> members(world_.data() + first, static_cast<std::size_t>(options_.tensor));
  for (const int member : members) at(member).computing_since = at(member).now;
  for (int half = 0; half < halves; ++half) {
    for (const int member : members) {
      Rank& rank = at(member);
      const std::uint64_t own =
          piece(rank.own[static_cast<std::size_t>(phase)],
                static_cast<std::uint64_t>(action.micro_batch) * static_cast<std::uint64_t>(halves) +
                    static_cast<std::uint64_t>(half),
                static_cast<std::uint64_t>(options_.micro_batches) * static_cast<std::uint64_t>(halves));
      rank.record[phase].wall_ns += own;
      rank.now += own;
      if (half == halves / 2 - 1) rank.bucket_ready = rank.now;
    }
    if (options_.tensor > 1) all_reduce(members, costs_.tensor_transfer, 0, call);
  }
  for (const int member : members) note_compute(at(member), action);
}

void Replay::send(int replica, const StageAction& action) {
  const int to = action.backward ? action.stage - 1 : action.stage + 1;
  if (to < 0 || to == options_.pipeline) return;
  const Call call = {Operation::kSend, GroupKind::kPipeline, action.backward ? kSentBefore : kSentNext,
                     kActivationBytes, action.backward ? Phase::kBackward : Phase::kForward};
  const std::size_t first =
      place(to, action.micro_batch, options_.micro_batches) * static_cast<std::size_t>(options_.tensor);
  for (int tensor = 0; tensor < options_.tensor; ++tensor) {
    Rank& rank = at(rank_of(replica, action.stage, tensor));
    const std::uint64_t end = rank.now + costs_.message;
    rank.record[Phase::kPipelineComm].wall_ns += costs_.message;
    note(rank, call, rank.now, end, to, false);
    rank.now = end;
    (action.backward ? backward_arrival_ : forward_arrival_)[first + static_cast<std::size_t>(tensor)] = end;
  }
}

// The first bucket is ready in the middle of the last backward and is reduced beside the rest of it; the second waits
// for the first.
void Replay::reduce_gradients() {
  if (options_.data == 1) return;
  const Call call = {Operation::kAllReduce, GroupKind::kData, kDataCalls, kBucketBytes, Phase::kBackward};
  const int replica = options_.tensor * options_.pipeline;
  std::vector<int> members(static_cast<std::size_t>(options_.data));
  for (int position = 0; position < replica; ++position) {
    std::uint64_t ready = 0;
    for (int data = 0; data < options_.data; ++data) {
      members[static_cast<std::size_t>(data)] = data * replica + position;
      ready = std::max(ready, at(data * replica + position).bucket_ready);
    }
    const std::uint64_t done = ready + costs_.bucket;
    for (const int member : members) note(at(member), call, at(member).bucket_ready, done, 0, true);
    all_reduce(members, costs_.bucket, done,
               {Operation::kAllReduce, GroupKind::kData, kDataCalls, kBucketBytes, Phase::kOther});
  }
}

// All ranks agree on a few bytes: that the gradients are finite, whether to stop.
void Replay::vote(Phase phase) {
  all_reduce(world_, costs_.vote, 0, {Operation::kAllReduce, GroupKind::kWorld, kWorldCalls, 16, phase});
}

void Replay::all_reduce(std::span<const int> members, std::uint64_t transfer, std::uint64_t not_before,
                        const Call& call) {
  std::uint64_t last = not_before;
  for (const int member : members) last = std::max(last, at(member).now);
  Phase waits = trace::communication_phase(call.group);
  if (call.phase == Phase::kEvaluation) waits = Phase::kEvaluationComm;
  if (call.phase == Phase::kCheckpoint) waits = Phase::kCheckpointComm;
  for (const int member : members) {
    Rank& rank = at(member);
    note(rank, call, rank.now, last + transfer, 0, false);
    rank.record[waits].wall_ns += last + transfer - rank.now;
    rank.now = last + transfer;
  }
}

void Replay::note(Rank& rank, const Call& call, std::uint64_t start, std::uint64_t end, int peer, bool overlapped) {
  const std::uint32_t sequence = ++rank.calls[call.counter];
  if (!keep_events_) return;
  trace::Event event = event_from(start, end);
  event.step = static_cast<std::uint32_t>(step_);
  event.sequence = sequence;
  set_bytes(event, call.bytes);
  event.group = group_index(call.group);
  event.peer = static_cast<std::uint16_t>(peer);
  event.operation = call.operation;
  event.phase = call.phase;
  if (overlapped) event.flags |= trace::kOverlapped;
  rank.events.push_back(event);
}

void Replay::note_compute(Rank& rank, const StageAction& action) {
  if (!keep_events_) return;
  trace::Event event = event_from(rank.computing_since, rank.now);
  event.step = static_cast<std::uint32_t>(step_);
  event.sequence = static_cast<std::uint32_t>(action.micro_batch);
  event.operation = action.backward ? Operation::kBackward : Operation::kForward;
  event.phase = action.backward ? Phase::kBackward : Phase::kForward;
  rank.events.push_back(event);
}

std::uint16_t Replay::group_index(GroupKind kind) const {
  return static_cast<std::uint16_t>(std::ranges::find(groups_, kind) - groups_.begin());
}

}  // namespace convoy::analysis
