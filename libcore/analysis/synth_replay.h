// SPDX-License-Identifier: Apache-2.0
// A step of DP x TP x PP training, replayed from first principles: every rank has a clock; its computations move it by
// their time, a collective moves its members' to the latest of them plus the transfer, a message lets its receiver go
// on no sooner than it has arrived. Stages work in the order of 1F1B (Narayanan et al., SC 2021: a stage runs ahead by
// as many forwards as stages follow it, then alternates). What a rank does in a phase is its own work: jitter and
// faults are in it, and nothing that another rank has caused.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "libcore/analysis/synth.h"

namespace convoy::analysis {

// A micro-batch's forward or backward on a stage. The list of all is in an order that dependencies allow.
struct StageAction {
  int stage = 0;
  bool backward = false;
  int micro_batch = 0;
  bool operator==(const StageAction&) const = default;
};
std::vector<StageAction> one_forward_one_backward(int stages, int micro_batches);

// Ranks count TP fastest, then PP, then DP.
trace::Coordinates synth_coordinates(const SynthOptions& options, int rank);
// The groups of a rank, in the order of its events' group indices: world, then those of more than one member.
std::vector<trace::Group> synth_groups(const SynthOptions& options, int rank);

class Replay {
 public:
  explicit Replay(const SynthOptions& options);

  // The next step, from 1.
  void advance(bool keep_events);
  // Of that step; times count from the begin of the run.
  const trace::StepRecord& record(int rank) const { return ranks_[static_cast<std::size_t>(rank)].record; }
  std::span<const trace::Event> events(int rank) const { return ranks_[static_cast<std::size_t>(rank)].events; }

 private:
  enum Counter { kWorldCalls, kTensorCalls, kDataCalls, kSentNext, kSentBefore, kFromNext, kFromBefore, kCounters };
  struct Rank {
    std::uint64_t now = 0;
    std::uint64_t computing_since = 0;
    std::uint64_t bucket_ready = 0;  // when the overlapped gradients were
    trace::StepRecord record;
    std::array<std::uint64_t, trace::kPhases> own = {};  // of this step
    std::array<std::uint32_t, kCounters> calls = {};
    std::vector<trace::Event> events;
  };
  // In ns, of a healthy step.
  struct Costs {
    std::vector<std::uint64_t> forward, backward;  // [stages], of all micro-batches
    std::uint64_t data = 0, optimizer = 0, other = 0, evaluation = 0, checkpoint = 0;
    std::uint64_t tensor_transfer = 0, message = 0, bucket = 0, vote = 0;
  };
  struct Call {
    trace::Operation operation;
    trace::GroupKind group;
    Counter counter;
    std::uint64_t bytes;
    trace::Phase phase;  // in which it happens
  };

  void plan_costs();
  void draw_own_work();
  void apply_faults();
  void work(trace::Phase phase);
  void run_action(int replica, const StageAction& action);
  void receive(int replica, const StageAction& action);
  void compute(int replica, const StageAction& action);
  void send(int replica, const StageAction& action);
  void reduce_gradients();
  void vote(trace::Phase phase);
  void all_reduce(std::span<const int> members, std::uint64_t transfer, std::uint64_t not_before, const Call& call);
  void note(Rank& rank, const Call& call, std::uint64_t start, std::uint64_t end, int peer, bool overlapped);
  void note_compute(Rank& rank, const StageAction& action);
  std::uint16_t group_index(trace::GroupKind kind) const;
  int rank_of(int replica, int stage, int tensor) const {
    return (replica * options_.pipeline + stage) * options_.tensor + tensor;
  }
  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  SynthOptions options_;
  Costs costs_;
  std::vector<StageAction> actions_;
  std::vector<Rank> ranks_;
  std::vector<int> world_;
  std::vector<trace::GroupKind> groups_;
  // When the message that a micro-batch needs reaches a stage: [stage][micro-batch][tensor], of the replica at hand.
  std::vector<std::uint64_t> forward_arrival_, backward_arrival_;
  std::int64_t step_ = 0;
  bool keep_events_ = false;
};

}  // namespace convoy::analysis
