// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/pipeline_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

constexpr int kMostStages = 6, kMostMicroBatches = 9;
constexpr ScheduleKind kGpipe = ScheduleKind::kGpipe, k1F1B = ScheduleKind::kOneForwardOneBackward;

// "rF0 F0 sF0 rB0 I0 sB0 W0": receive, forward, send, ..., input part and weight part of backward.
std::string text(const std::vector<Action>& actions) {
  std::string line;
  for (const Action& action : actions) {
    const char* const names[] = {"rF", "F", "sF", "rB", "I", "sB", "W"};
    line += (line.empty() ? "" : " ") + std::string(names[static_cast<int>(action.kind)]) +
            std::to_string(action.micro_batch);
  }
  return line;
}

std::string text(ScheduleKind kind, int stages, int micro_batches, int stage) {
  return text(pipeline_schedule(kind, stages, micro_batches, stage));
}

TEST(PipelineSchedule, OneStageForwardsAndBackwardsInTurn) {
  EXPECT_EQ(text(k1F1B, 1, 2, 0), "F0 I0 W0 F1 I1 W1");
  EXPECT_EQ(text(kGpipe, 1, 2, 0), "F0 F1 I0 W0 I1 W1");
}

TEST(PipelineSchedule, OneForwardOneBackwardOfTwoStagesAndThreeMicroBatches) {
  EXPECT_EQ(text(k1F1B, 2, 3, 0), "F0 sF0 F1 sF1 rB0 I0 W0 F2 sF2 rB1 I1 W1 rB2 I2 W2");
  EXPECT_EQ(text(k1F1B, 2, 3, 1), "rF0 F0 I0 sB0 W0 rF1 F1 I1 sB1 W1 rF2 F2 I2 sB2 W2");
}

TEST(PipelineSchedule, GpipeOfTwoStagesAndThreeMicroBatches) {
  EXPECT_EQ(text(kGpipe, 2, 3, 0), "F0 sF0 F1 sF1 F2 sF2 rB0 I0 W0 rB1 I1 W1 rB2 I2 W2");
  EXPECT_EQ(text(kGpipe, 2, 3, 1), "rF0 F0 rF1 F1 rF2 F2 I0 sB0 W0 I1 sB1 W1 I2 sB2 W2");
}

TEST(PipelineSchedule, FewerMicroBatchesThanStages) {
  EXPECT_EQ(text(k1F1B, 3, 2, 0), "F0 sF0 F1 sF1 rB0 I0 W0 rB1 I1 W1");
  EXPECT_EQ(text(k1F1B, 3, 2, 1), "rF0 F0 sF0 rF1 F1 sF1 rB0 I0 sB0 W0 rB1 I1 sB1 W1");
  EXPECT_EQ(text(k1F1B, 3, 2, 2), "rF0 F0 I0 sB0 W0 rF1 F1 I1 sB1 W1");
}

TEST(PipelineSchedule, ForwardAloneSendsOn) {
  EXPECT_EQ(text(forward_schedule(3, 2, 1)), "rF0 F0 sF0 rF1 F1 sF1");
  EXPECT_EQ(text(forward_schedule(1, 1, 0)), "F0");
}

TEST(PipelineSchedule, AStageBeyondTheLastIsOurFault) {
  EXPECT_THROW(pipeline_schedule(k1F1B, 2, 1, 2), InternalError);
  EXPECT_THROW(pipeline_schedule(k1F1B, 2, 0, 0), InternalError);
}

// All stages' lists, run with sends that do not wait, in units of time.
class Simulation {
 public:
  struct Costs {
    double forward = 1, input = 2, weight = 0;
  };

  Simulation(ScheduleKind kind, int stages, int micro_batches, const Costs& costs)
      : stages_(stages), micro_batches_(micro_batches), costs_(costs) {
    for (int stage = 0; stage < stages; ++stage) {
      lists_.push_back(pipeline_schedule(kind, stages, micro_batches, stage));
    }
    next_.resize(lists_.size());
    clock_.resize(lists_.size());
    done_.resize(lists_.size());
  }

  // Runs until nothing moves.
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int stage = 0; stage < stages_; ++stage) {
        while (step(stage)) moved = true;
      }
    }
  }

  void expect_complete() const {
    for (int stage = 0; stage < stages_; ++stage) {
      const auto s = static_cast<std::size_t>(stage);
      EXPECT_EQ(next_[s], lists_[s].size()) << "stage " << stage << " waits for ever";
      for (int i = 0; i < micro_batches_; ++i) {
        for (const ActionKind kind : {ActionKind::kForward, ActionKind::kBackwardInput, ActionKind::kBackwardWeight}) {
          EXPECT_EQ(times(stage, kind, i), 1) << "stage " << stage << ", micro-batch " << i;
        }
      }
    }
    for (const auto& [pair, messages] : in_flight_) EXPECT_TRUE(messages.empty()) << "a message is never received";
  }

  double makespan() const { return *std::max_element(clock_.begin(), clock_.end()); }

 private:
  struct Message {
    int micro_batch;
    double at;
  };

  int times(int stage, ActionKind kind, int micro_batch) const {
    const auto& done = done_[static_cast<std::size_t>(stage)];
    return static_cast<int>(std::count(done.begin(), done.end(), Action{kind, micro_batch}));
  }

  void need(int stage, ActionKind kind, int micro_batch) const {
    EXPECT_EQ(times(stage, kind, micro_batch), 1)
        << "stage " << stage << ", micro-batch " << micro_batch << " lacks action " << static_cast<int>(kind);
  }

  bool step(int stage) {
    const auto s = static_cast<std::size_t>(stage);
    if (next_[s] == lists_[s].size()) return false;
    const Action action = lists_[s][next_[s]];
    const int i = action.micro_batch;
    const bool first = stage == 0, last = stage == stages_ - 1;
    switch (action.kind) {
      case ActionKind::kReceiveForward:
        EXPECT_FALSE(first);
        if (!receive(stage - 1, stage, i)) return false;
        break;
      case ActionKind::kForward:
        if (!first) need(stage, ActionKind::kReceiveForward, i);
        clock_[s] += costs_.forward;
        break;
      case ActionKind::kSendForward:
        EXPECT_FALSE(last);
        need(stage, ActionKind::kForward, i);
        in_flight_[{stage, stage + 1}].push_back({i, clock_[s]});
        break;
      case ActionKind::kReceiveBackward:
        EXPECT_FALSE(last);
        if (!receive(stage + 1, stage, i)) return false;
        break;
      case ActionKind::kBackwardInput:
        need(stage, last ? ActionKind::kForward : ActionKind::kReceiveBackward, i);
        need(stage, ActionKind::kForward, i);
        clock_[s] += costs_.input;
        break;
      case ActionKind::kSendBackward:
        EXPECT_FALSE(first);
        need(stage, ActionKind::kBackwardInput, i);
        in_flight_[{stage, stage - 1}].push_back({i, clock_[s]});
        break;
      case ActionKind::kBackwardWeight:
        need(stage, ActionKind::kBackwardInput, i);
        clock_[s] += costs_.weight;
        break;
    }
    done_[s].push_back(action);
    ++next_[s];
    return true;
  }

  bool receive(int from, int to, int micro_batch) {
    std::deque<Message>& messages = in_flight_[{from, to}];
    if (messages.empty()) return false;
    EXPECT_EQ(messages.front().micro_batch, micro_batch) << "from stage " << from << " to " << to;
    double& clock = clock_[static_cast<std::size_t>(to)];
    clock = std::max(clock, messages.front().at);
    messages.pop_front();
    return true;
  }

  int stages_, micro_batches_;
  Costs costs_;
  std::vector<std::vector<Action>> lists_, done_;
  std::vector<std::size_t> next_;
  std::vector<double> clock_;
  std::map<std::pair<int, int>, std::deque<Message>> in_flight_;
};

template <class Body>
void for_all_sizes(Body body) {
  for (int stages = 1; stages <= kMostStages; ++stages) {
    for (int micro_batches = 1; micro_batches <= kMostMicroBatches; ++micro_batches) {
      SCOPED_TRACE(::testing::Message() << stages << " stages, " << micro_batches << " micro-batches");
      body(stages, micro_batches);
    }
  }
}

TEST(PipelineSchedule, NothingWaitsForEverAndEveryMicroBatchPassesEveryStageOnceInOrder) {
  for_all_sizes([](int stages, int micro_batches) {
    for (const ScheduleKind kind : {kGpipe, k1F1B}) {
      Simulation simulation(kind, stages, micro_batches, {});
      simulation.run();
      simulation.expect_complete();
    }
  });
}

TEST(PipelineSchedule, TheGradientOfTheInputLeavesBeforeTheGradientsOfTheWeightsAreMade) {
  for_all_sizes([](int stages, int micro_batches) {
    for (const ScheduleKind kind : {kGpipe, k1F1B}) {
      for (int stage = 1; stage < stages; ++stage) {
        const std::vector<Action> list = pipeline_schedule(kind, stages, micro_batches, stage);
        for (std::size_t a = 0; a < list.size(); ++a) {
          if (list[a].kind != ActionKind::kBackwardInput) continue;
          EXPECT_EQ(list[a + 1], (Action{ActionKind::kSendBackward, list[a].micro_batch}));
          EXPECT_EQ(list[a + 2], (Action{ActionKind::kBackwardWeight, list[a].micro_batch}));
        }
      }
    }
  });
}

TEST(PipelineSchedule, OneForwardOneBackwardKeepsAsManyActivationsAsStagesAreLeft) {
  for_all_sizes([](int stages, int micro_batches) {
    for (int stage = 0; stage < stages; ++stage) {
      EXPECT_EQ(activation_sets(pipeline_schedule(k1F1B, stages, micro_batches, stage)),
                std::min(micro_batches, stages - stage));
    }
  });
}

TEST(PipelineSchedule, GpipeKeepsTheActivationsOfAllMicroBatches) {
  for_all_sizes([](int stages, int micro_batches) {
    for (int stage = 0; stage < stages; ++stage) {
      EXPECT_EQ(activation_sets(pipeline_schedule(kGpipe, stages, micro_batches, stage)), micro_batches);
    }
  });
}

TEST(PipelineSchedule, MicroBatchesInFlightHaveDifferentSetsModuloTheirNumber) {
  for_all_sizes([](int stages, int micro_batches) {
    for (int stage = 0; stage < stages; ++stage) {
      const std::vector<Action> list = pipeline_schedule(k1F1B, stages, micro_batches, stage);
      std::vector<bool> taken(static_cast<std::size_t>(activation_sets(list)));
      for (const Action& action : list) {
        const std::size_t set = static_cast<std::size_t>(action.micro_batch) % taken.size();
        if (action.kind == ActionKind::kForward) {
          EXPECT_FALSE(taken[set]);
          taken[set] = true;
        }
        if (action.kind == ActionKind::kBackwardWeight) taken[set] = false;
      }
    }
  });
}

// Where a backward of cost 2 hands its gradient on at its end, both schedules take (m + p - 1) forwards and backwards,
// of which p - 1 are the bubble.
TEST(PipelineSchedule, TheBubbleOfABackwardInOnePieceIsTheIdealOne) {
  for_all_sizes([](int stages, int micro_batches) {
    for (const ScheduleKind kind : {kGpipe, k1F1B}) {
      Simulation simulation(kind, stages, micro_batches, {.forward = 1, .input = 2, .weight = 0});
      simulation.run();
      const double work = 3.0 * micro_batches, total = simulation.makespan();
      EXPECT_DOUBLE_EQ(total, 3.0 * (micro_batches + stages - 1));
      EXPECT_NEAR(1.0 - work / total, (stages - 1.0) / (micro_batches + stages - 1.0), 1e-12);
    }
  });
}

// With the input's half sent at once, a stage is reached by the first gradient p - 1 units earlier.
TEST(PipelineSchedule, TheSplitBackwardShortensTheBubble) {
  for_all_sizes([](int stages, int micro_batches) {
    Simulation simulation(kGpipe, stages, micro_batches, {.forward = 1, .input = 1, .weight = 1});
    simulation.run();
    EXPECT_DOUBLE_EQ(simulation.makespan(), 3.0 * micro_batches + 2.0 * (stages - 1));
  });
  for_all_sizes([](int stages, int micro_batches) {
    Simulation simulation(k1F1B, stages, micro_batches, {.forward = 1, .input = 1, .weight = 1});
    simulation.run();
    EXPECT_LE(simulation.makespan(), 3.0 * (micro_batches + stages - 1));
  });
}

}  // namespace
}  // namespace convoy::parallel
