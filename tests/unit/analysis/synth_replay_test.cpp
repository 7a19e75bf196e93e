// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/synth_replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace convoy::analysis {
namespace {

using trace::GroupKind;
using trace::Operation;
using trace::Phase;

SynthOptions layout(int tensor, int pipeline, int data) {
  SynthOptions options;
  options.tensor = tensor;
  options.pipeline = pipeline;
  options.data = data;
  options.jitter = 0.02;
  options.evaluate_every = 3;
  options.checkpoint_every = 5;
  options.steps = 10;
  return options;
}

int ranks_of(const SynthOptions& options) { return options.tensor * options.pipeline * options.data; }

std::vector<StageAction> of_stage(const std::vector<StageAction>& all, int stage) {
  std::vector<StageAction> mine;
  for (const StageAction& action : all) {
    if (action.stage == stage) mine.push_back(action);
  }
  return mine;
}

TEST(OneForwardOneBackward, IsTheTextbookOrderOnEachStage) {
  const std::vector<StageAction> all = one_forward_one_backward(3, 3);
  using Order = std::vector<StageAction>;
  EXPECT_EQ(of_stage(all, 0),
            (Order{{0, false, 0}, {0, false, 1}, {0, false, 2}, {0, true, 0}, {0, true, 1}, {0, true, 2}}));
  EXPECT_EQ(of_stage(all, 1),
            (Order{{1, false, 0}, {1, false, 1}, {1, true, 0}, {1, false, 2}, {1, true, 1}, {1, true, 2}}));
  EXPECT_EQ(of_stage(all, 2),
            (Order{{2, false, 0}, {2, true, 0}, {2, false, 1}, {2, true, 1}, {2, false, 2}, {2, true, 2}}));
}

TEST(OneForwardOneBackward, DoesNothingBeforeWhatItNeeds) {
  for (const int stages : {1, 2, 4, 7}) {
    for (const int micro_batches : {1, 2, 5, 16}) {
      std::map<std::tuple<int, bool, int>, std::size_t> at;
      const std::vector<StageAction> all = one_forward_one_backward(stages, micro_batches);
      ASSERT_EQ(all.size(), static_cast<std::size_t>(2 * stages * micro_batches));
      for (std::size_t i = 0; i < all.size(); ++i) at[{all[i].stage, all[i].backward, all[i].micro_batch}] = i;
      for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
        for (int stage = 1; stage < stages; ++stage) {
          EXPECT_LT((at[{stage - 1, false, micro_batch}]), (at[{stage, false, micro_batch}]));
          EXPECT_LT((at[{stage, true, micro_batch}]), (at[{stage - 1, true, micro_batch}]));
        }
        EXPECT_LT((at[{stages - 1, false, micro_batch}]), (at[{stages - 1, true, micro_batch}]));
      }
    }
  }
}

TEST(SynthGroups, HoldTheRanksThatDifferInOneCoordinate) {
  const std::vector<trace::Group> groups = synth_groups(layout(2, 2, 2), 5);  // tp 1, pp 0, dp 1
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].members, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(groups[1].members, (std::vector<int>{4, 5}));
  EXPECT_EQ(groups[2].members, (std::vector<int>{5, 7}));
  EXPECT_EQ(groups[3].members, (std::vector<int>{1, 5}));
  EXPECT_EQ(synth_groups(layout(1, 1, 1), 0).size(), 1u) << "the world alone";
}

class ReplayOf : public testing::TestWithParam<std::tuple<int, int, int>> {
 protected:
  SynthOptions options() const {
    const auto [tensor, pipeline, data] = GetParam();
    return layout(tensor, pipeline, data);
  }
};

TEST_P(ReplayOf, HasPhasesThatSumToTheStepOnEveryRank) {
  const SynthOptions options = this->options();
  Replay replay(options);
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    replay.advance(false);
    for (int rank = 0; rank < ranks_of(options); ++rank) {
      const trace::StepRecord& record = replay.record(rank);
      std::uint64_t sum = 0;
      for (const trace::PhaseTime& phase : record.phases) sum += phase.wall_ns;
      EXPECT_EQ(sum, record.duration_ns) << "rank " << rank << " step " << step;
      EXPECT_EQ(record.step, static_cast<std::uint64_t>(step));
      EXPECT_EQ(record.duration_ns, replay.record(0).duration_ns) << "the last vote lets all go together";
    }
  }
}

TEST_P(ReplayOf, TakesAboutTheTimeAsked) {
  SynthOptions options = this->options();
  options.jitter = 0.0;
  Replay replay(options);
  replay.advance(false);
  replay.advance(false);
  EXPECT_NEAR(static_cast<double>(replay.record(0).duration_ns) * 1e-9, options.step_seconds,
              0.1 * options.step_seconds);
}

// The events are kept apart from the phases, so that one can be held against the other.
TEST_P(ReplayOf, HasEventsThatAddUpToTheCommunicationOfItsPhases) {
  const SynthOptions options = this->options();
  Replay replay(options);
  for (std::int64_t step = 1; step <= 6; ++step) {
    replay.advance(true);
    for (int rank = 0; rank < ranks_of(options); ++rank) {
      std::array<std::uint64_t, trace::kPhases> sums = {};
      const std::vector<trace::Group> groups = synth_groups(options, rank);
      for (const trace::Event& event : replay.events(rank)) {
        EXPECT_EQ(event.step, step);
        if (event.group == trace::Event::kNoGroup || (event.flags & trace::kOverlapped) != 0) continue;
        Phase phase = communication_phase(groups.at(event.group).kind);
        if (event.phase == Phase::kEvaluation) phase = Phase::kEvaluationComm;
        if (event.phase == Phase::kCheckpoint) phase = Phase::kCheckpointComm;
        sums[static_cast<std::size_t>(phase)] += event.duration_ns();
      }
      const double tolerance = 16.0 * static_cast<double>(replay.events(rank).size());  // a duration's unit is 16 ns
      for (std::size_t phase = static_cast<std::size_t>(Phase::kTensorComm); phase < trace::kPhases; ++phase) {
        EXPECT_NEAR(static_cast<double>(sums[phase]), static_cast<double>(replay.record(rank).phases[phase].wall_ns),
                    tolerance)
            << name_of(static_cast<Phase>(phase)) << " of rank " << rank;
      }
    }
  }
}

TEST_P(ReplayOf, LetsTheMembersOfACollectiveLeaveTogether) {
  const SynthOptions options = this->options();
  Replay replay(options);
  replay.advance(true);
  replay.advance(true);
  std::map<std::tuple<std::vector<int>, std::uint32_t, std::uint16_t>, std::vector<std::uint64_t>> ends;
  for (int rank = 0; rank < ranks_of(options); ++rank) {
    const std::vector<trace::Group> groups = synth_groups(options, rank);
    for (const trace::Event& event : replay.events(rank)) {
      if (!is_collective(event.operation)) continue;
      ends[{groups.at(event.group).members, event.sequence, event.group}].push_back(event.start_ns +
                                                                                    event.duration_ns());
    }
  }
  EXPECT_FALSE(ends.empty());
  for (const auto& [call, times] : ends) {
    EXPECT_EQ(times.size(), std::get<0>(call).size()) << "sequence " << std::get<1>(call);
    const auto [first, last] = std::ranges::minmax(times);
    EXPECT_LT(last - first, trace::Event::kDurationUnit);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, ReplayOf,
                         testing::Values(std::tuple{1, 1, 1}, std::tuple{1, 1, 5}, std::tuple{4, 1, 2},
                                         std::tuple{1, 4, 1}, std::tuple{2, 3, 2}, std::tuple{4, 4, 4}));

// Own work with the fault and without it, of the same draw of jitter.
TEST(ReplayFaults, AddExactlyWhatTheyNameToTheOwnWorkOfTheirRankAlone) {
  const SynthOptions healthy = layout(2, 2, 2);
  SynthOptions sick = healthy;
  sick.faults = {{.rank = 3, .phase = Phase::kForward, .factor = 1.25, .first = 3, .last = 6},
                 {.rank = 6, .phase = Phase::kData, .sleep_seconds = 0.0125}};
  Replay a(healthy), b(sick);
  for (std::uint64_t step = 1; step <= 10; ++step) {
    a.advance(false);
    b.advance(false);
    for (int rank = 0; rank < 8; ++rank) {
      for (const Phase phase : {Phase::kData, Phase::kForward, Phase::kBackward, Phase::kOptimizer, Phase::kOther,
                                Phase::kEvaluation, Phase::kCheckpoint}) {
        const auto own = static_cast<double>(a.record(rank)[phase].wall_ns);
        double expected = own;
        if (rank == 3 && phase == Phase::kForward && step >= 3 && step <= 6) expected = std::round(1.25 * own);
        if (rank == 6 && phase == Phase::kData) expected = own + 12'500'000;
        EXPECT_EQ(static_cast<double>(b.record(rank)[phase].wall_ns), expected)
            << name_of(phase) << " of rank " << rank << " in step " << step;
      }
    }
  }
}

TEST(ReplayFaults, AreWaitedForByTheOthers) {
  SynthOptions healthy = layout(1, 1, 2);
  healthy.jitter = 0.0;
  SynthOptions sick = healthy;
  sick.faults = {{.rank = 1, .phase = Phase::kData, .sleep_seconds = 0.03}};
  Replay a(healthy), b(sick);
  a.advance(false);
  b.advance(false);
  EXPECT_EQ(b.record(0).duration_ns, a.record(0).duration_ns + 30'000'000);
  EXPECT_EQ(b.record(0)[Phase::kDataComm].wall_ns, a.record(0)[Phase::kDataComm].wall_ns + 30'000'000);
  EXPECT_EQ(b.record(1)[Phase::kDataComm].wall_ns, a.record(1)[Phase::kDataComm].wall_ns);
}

TEST(ReplayJitter, HasTheDeviationAskedForInEveryPhase) {
  SynthOptions options = layout(1, 1, 16);
  options.jitter = 0.03;
  options.steps = 200;
  Replay replay(options);
  replay.advance(false);  // the first is longer
  const std::array<Phase, 4> phases = {Phase::kData, Phase::kForward, Phase::kBackward, Phase::kOptimizer};
  std::array<double, 4> sums = {}, squares = {};
  constexpr int kCount = 199 * 16;
  for (int step = 2; step <= 200; ++step) {
    replay.advance(false);
    for (int rank = 0; rank < 16; ++rank) {
      for (std::size_t i = 0; i < phases.size(); ++i) {
        const double log = std::log(static_cast<double>(replay.record(rank)[phases[i]].wall_ns));
        sums[i] += log;
        squares[i] += log * log;
      }
    }
  }
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const double mean = sums[i] / kCount;
    const double deviation = std::sqrt(squares[i] / kCount - mean * mean);
    // The deviation of a sample's deviation is sigma / sqrt(2 n), 1.3 % here; four of them.
    EXPECT_NEAR(deviation, options.jitter, 0.05 * options.jitter) << name_of(phases[i]);
  }
}

TEST(Replay, WorksLongerOnTheLastStageAndEquallyWithinAStage) {
  SynthOptions options = layout(2, 3, 2);
  options.jitter = 0.0;
  Replay replay(options);
  replay.advance(false);
  for (int rank = 0; rank < 12; ++rank) {
    const int stage = synth_coordinates(options, rank).pipeline;
    const std::uint64_t forward = replay.record(rank)[Phase::kForward].wall_ns;
    EXPECT_EQ(forward, replay.record(2 * stage)[Phase::kForward].wall_ns) << rank;
    if (stage < 2) continue;
    EXPECT_NEAR(static_cast<double>(forward), 1.2 * static_cast<double>(replay.record(0)[Phase::kForward].wall_ns),
                2.0);
  }
}

TEST(Replay, CountsTheCallsOfEachGroupFromOneWithoutHoles) {
  const SynthOptions options = layout(2, 2, 2);
  Replay replay(options);
  std::map<std::tuple<std::uint16_t, Operation, int>, std::uint32_t> next;
  for (int step = 1; step <= 4; ++step) {
    replay.advance(true);
    std::vector<trace::Event> calls(replay.events(5).begin(), replay.events(5).end());
    std::erase_if(calls, [](const trace::Event& event) { return event.group == trace::Event::kNoGroup; });
    std::ranges::sort(calls, {}, &trace::Event::sequence);
    for (const trace::Event& event : calls) {
      const std::tuple key(event.group, event.operation, static_cast<int>(event.peer));
      EXPECT_EQ(event.sequence, ++next[key]) << name_of(event.operation);
    }
  }
}

TEST(Replay, FlagsWhatIsSpecialOfAStep) {
  const SynthOptions options = layout(1, 1, 2);  // evaluates every 3 steps, saves every 5, and at the last
  Replay replay(options);
  const std::vector<std::uint32_t> expected = {trace::kFirst,
                                               0,
                                               trace::kEvaluated,
                                               0,
                                               trace::kSaved,
                                               trace::kEvaluated,
                                               0,
                                               0,
                                               trace::kEvaluated,
                                               trace::kEvaluated | trace::kSaved};
  for (const std::uint32_t flags : expected) {
    replay.advance(false);
    EXPECT_EQ(replay.record(1).flags, flags) << replay.record(1).step;
  }
}

}  // namespace
}  // namespace convoy::analysis
