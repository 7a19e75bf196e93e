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

using ::testing::ElementsAre;

constexpr int kMostStages = 6, kMostMicroBatches = 9, kMostChunks = 4;
constexpr ScheduleKind kGpipe = ScheduleKind::kGpipe, k1F1B = ScheduleKind::kOneForwardOneBackward,
                       kInterleaved = ScheduleKind::kInterleaved;

// "rF0 F0 sF0 rB0 I0 sB0 W0": receive, forward, send, ..., input part and weight part of backward; "F0.1" is of the
// stage's second chunk.
std::string text(const std::vector<Action>& actions) {
  std::string line;
  for (const Action& action : actions) {
    const char* const names[] = {"rF", "F", "sF", "rB", "I", "sB", "W"};
    line += (line.empty() ? "" : " ") + std::string(names[static_cast<int>(action.kind)]) +
            std::to_string(action.micro_batch);
    if (action.chunk > 0) line += "." + std::to_string(action.chunk);
  }
  return line;
}

std::string text(ScheduleKind kind, int stages, int micro_batches, int stage, int chunks = 1) {
  return text(pipeline_schedule(kind, stages, micro_batches, stage, chunks));
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

TEST(PipelineSchedule, InterleavedChunksOfTwoStagesAndTwoMicroBatches) {
  EXPECT_EQ(text(kInterleaved, 2, 2, 0, 2),
            "F0 sF0 F1 sF1 rF0.1 F0.1 sF0.1 rF1.1 F1.1 sF1.1 rB0.1 I0.1 sB0.1 W0.1 rB1.1 I1.1 sB1.1 W1.1 "
            "rB0 I0 W0 rB1 I1 W1");
  EXPECT_EQ(text(kInterleaved, 2, 2, 1, 2),
            "rF0 F0 sF0 rF1 F1 sF1 rF0.1 F0.1 I0.1 sB0.1 W0.1 rF1.1 F1.1 I1.1 sB1.1 W1.1 "
            "rB0 I0 sB0 W0 rB1 I1 sB1 W1");
}

// One micro-batch, where a group has two: what is left passes all four chunks in turn.
TEST(PipelineSchedule, AShortGroupIsAWholeOneWithoutWhatItLacks) {
  EXPECT_EQ(text(kInterleaved, 2, 1, 0, 2), "F0 sF0 rF0.1 F0.1 sF0.1 rB0.1 I0.1 sB0.1 W0.1 rB0 I0 W0");
  EXPECT_EQ(text(kInterleaved, 2, 1, 1, 2), "rF0 F0 sF0 rF0.1 F0.1 I0.1 sB0.1 W0.1 rB0 I0 sB0 W0");
}

TEST(PipelineSchedule, ForwardAloneGoesInGroupsThroughTheChunks) {
  EXPECT_EQ(text(forward_schedule(2, 3, 0, 2)),
            "F0 sF0 F1 sF1 rF0.1 F0.1 sF0.1 rF1.1 F1.1 sF1.1 F2 sF2 rF2.1 F2.1 sF2.1");
  EXPECT_EQ(text(forward_schedule(2, 3, 1, 2)), "rF0 F0 sF0 rF1 F1 sF1 rF0.1 F0.1 rF1.1 F1.1 rF2 F2 sF2 rF2.1 F2.1");
}

TEST(PipelineSchedule, ChunksThatAreNotInterleavedAreOurFault) {
  EXPECT_THROW(pipeline_schedule(k1F1B, 2, 1, 0, 2), InternalError);
}

TEST(PipelineSchedule, AStageBeyondTheLastIsOurFault) {
  EXPECT_THROW(pipeline_schedule(k1F1B, 2, 1, 2), InternalError);
  EXPECT_THROW(pipeline_schedule(k1F1B, 2, 0, 0), InternalError);
}

// All stages' lists, run with sends that do not wait, in units of time.
class Simulation {
 public:
  struct Costs {  // of a chunk
    double forward = 1, input = 2, weight = 0;
  };

  Simulation(ScheduleKind kind, int stages, int micro_batches, const Costs& costs, int chunks = 1)
      : stages_(stages), micro_batches_(micro_batches), chunks_(chunks), costs_(costs) {
    for (int stage = 0; stage < stages; ++stage) {
      lists_.push_back(pipeline_schedule(kind, stages, micro_batches, stage, chunks));
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
      for (int i = 0; i < micro_batches_ * chunks_; ++i) {
        for (const ActionKind kind : {ActionKind::kForward, ActionKind::kBackwardInput, ActionKind::kBackwardWeight}) {
          EXPECT_EQ(times(stage, {kind, i / chunks_, i % chunks_}), 1)
              << "stage " << stage << ", micro-batch " << i / chunks_ << ", chunk " << i % chunks_;
        }
      }
    }
    for (const auto& [pair, messages] : in_flight_) EXPECT_TRUE(messages.empty()) << "a message is never received";
  }

  double makespan() const { return *std::max_element(clock_.begin(), clock_.end()); }
  // The share of the time in which a stage has nothing to do.
  double bubble() const {
    const double work = micro_batches_ * chunks_ * (costs_.forward + costs_.input + costs_.weight);
    return 1.0 - work / makespan();
  }

 private:
  struct Message {
    bool forward;
    int micro_batch, chunk;  // of the model: whose input or output gradient it is
    double at;
  };

  int times(int stage, const Action& action) const {
    const auto& done = done_[static_cast<std::size_t>(stage)];
    return static_cast<int>(std::count(done.begin(), done.end(), action));
  }

  void need(int stage, ActionKind kind, const Action& of) const {
    EXPECT_EQ(times(stage, {kind, of.micro_batch, of.chunk}), 1)
        << "stage " << stage << ", micro-batch " << of.micro_batch << ", chunk " << of.chunk << " lacks action "
        << static_cast<int>(kind);
  }

  bool step(int stage) {
    const auto s = static_cast<std::size_t>(stage);
    if (next_[s] == lists_[s].size()) return false;
    const Action action = lists_[s][next_[s]];
    const int i = action.micro_batch, chunk = action.chunk * stages_ + stage;  // of the model
    const int before = (stage + stages_ - 1) % stages_, behind = (stage + 1) % stages_;
    const bool first = chunk == 0, last = chunk == chunks_ * stages_ - 1;
    switch (action.kind) {
      case ActionKind::kReceiveForward:
        EXPECT_FALSE(first);
        if (!receive(before, stage, {true, i, chunk, 0})) return false;
        break;
      case ActionKind::kForward:
        if (!first) need(stage, ActionKind::kReceiveForward, action);
        clock_[s] += costs_.forward;
        break;
      case ActionKind::kSendForward:
        EXPECT_FALSE(last);
        need(stage, ActionKind::kForward, action);
        in_flight_[{stage, behind}].push_back({true, i, chunk + 1, clock_[s]});
        break;
      case ActionKind::kReceiveBackward:
        EXPECT_FALSE(last);
        if (!receive(behind, stage, {false, i, chunk, 0})) return false;
        break;
      case ActionKind::kBackwardInput:
        need(stage, last ? ActionKind::kForward : ActionKind::kReceiveBackward, action);
        need(stage, ActionKind::kForward, action);
        clock_[s] += costs_.input;
        break;
      case ActionKind::kSendBackward:
        EXPECT_FALSE(first);
        need(stage, ActionKind::kBackwardInput, action);
        in_flight_[{stage, before}].push_back({false, i, chunk - 1, clock_[s]});
        break;
      case ActionKind::kBackwardWeight:
        need(stage, ActionKind::kBackwardInput, action);
        clock_[s] += costs_.weight;
        break;
    }
    done_[s].push_back(action);
    ++next_[s];
    return true;
  }

  // Messages of one pair of stages have one order, whichever way they go through the model.
  bool receive(int from, int to, const Message& wanted) {
    std::deque<Message>& messages = in_flight_[{from, to}];
    if (messages.empty()) return false;
    const Message& found = messages.front();
    EXPECT_TRUE(found.forward == wanted.forward && found.micro_batch == wanted.micro_batch &&
                found.chunk == wanted.chunk)
        << "from stage " << from << " to " << to << ": micro-batch " << found.micro_batch << " of chunk " << found.chunk
        << " where " << wanted.micro_batch << " of " << wanted.chunk << " is wanted";
    double& clock = clock_[static_cast<std::size_t>(to)];
    clock = std::max(clock, found.at);
    messages.pop_front();
    return true;
  }

  int stages_, micro_batches_, chunks_;
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

// At least two stages, at least two chunks in each.
template <class Body>
void for_all_interleaved(Body body) {
  for_all_sizes([&](int stages, int micro_batches) {
    for (int chunks = 2; stages > 1 && chunks <= kMostChunks; ++chunks) {
      SCOPED_TRACE(::testing::Message() << chunks << " chunks a stage");
      body(stages, micro_batches, chunks);
    }
  });
}

TEST(PipelineSchedule, InterleavedNothingWaitsForEverAndEveryMicroBatchPassesEveryChunkOnceInOrder) {
  for_all_interleaved([](int stages, int micro_batches, int chunks) {
    Simulation simulation(kInterleaved, stages, micro_batches, {}, chunks);
    simulation.run();
    simulation.expect_complete();
  });
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
      EXPECT_THAT(activation_sets(pipeline_schedule(k1F1B, stages, micro_batches, stage)),
                  ElementsAre(std::min(micro_batches, stages - stage)));
    }
  });
}

TEST(PipelineSchedule, GpipeKeepsTheActivationsOfAllMicroBatches) {
  for_all_sizes([](int stages, int micro_batches) {
    for (int stage = 0; stage < stages; ++stage) {
      EXPECT_THAT(activation_sets(pipeline_schedule(kGpipe, stages, micro_batches, stage)), ElementsAre(micro_batches));
    }
  });
}

void expect_free_sets(const std::vector<Action>& list) {
  const std::vector<int> sets = activation_sets(list);
  std::map<std::pair<int, int>, bool> taken;  // chunk, set
  for (const Action& action : list) {
    bool& is_taken = taken[{action.chunk, action.micro_batch % sets[static_cast<std::size_t>(action.chunk)]}];
    if (action.kind == ActionKind::kForward) {
      EXPECT_FALSE(is_taken);
      is_taken = true;
    }
    if (action.kind == ActionKind::kBackwardWeight) is_taken = false;
  }
}

TEST(PipelineSchedule, MicroBatchesInFlightHaveDifferentSetsModuloTheirNumber) {
  for_all_sizes([](int stages, int micro_batches) {
    for (int stage = 0; stage < stages; ++stage)
      expect_free_sets(pipeline_schedule(k1F1B, stages, micro_batches, stage));
  });
  for_all_interleaved([](int stages, int micro_batches, int chunks) {
    for (int stage = 0; stage < stages; ++stage)
      expect_free_sets(pipeline_schedule(kInterleaved, stages, micro_batches, stage, chunks));
  });
}

// A receive comes right before what it is for, so that one buffer for arriving gradients serves each chunk.
TEST(PipelineSchedule, WhatIsReceivedIsUsedAtOnce) {
  for_all_interleaved([](int stages, int micro_batches, int chunks) {
    for (int stage = 0; stage < stages; ++stage) {
      const std::vector<Action> list = pipeline_schedule(kInterleaved, stages, micro_batches, stage, chunks);
      for (std::size_t a = 0; a < list.size(); ++a) {
        Action next = list[a];
        if (next.kind == ActionKind::kReceiveForward) next.kind = ActionKind::kForward;
        if (next.kind == ActionKind::kReceiveBackward) next.kind = ActionKind::kBackwardInput;
        if (next.kind == list[a].kind) continue;
        EXPECT_EQ(list[a + 1], next);
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
      EXPECT_DOUBLE_EQ(simulation.makespan(), 3.0 * (micro_batches + stages - 1));
      EXPECT_NEAR(simulation.bubble(), (stages - 1.0) / (micro_batches + stages - 1.0), 1e-12);
    }
  });
}

// A pass of p - 1 chunks fills the pipeline and another empties it (Narayanan et al., 2021, section 2.2.2).
TEST(PipelineSchedule, TheBubbleOfWholeInterleavedGroupsIsTheIdealOne) {
  for_all_interleaved([](int stages, int micro_batches, int chunks) {
    if (micro_batches % stages != 0) return;
    Simulation simulation(kInterleaved, stages, micro_batches, {.forward = 1, .input = 2, .weight = 0}, chunks);
    simulation.run();
    const double v_m = chunks * micro_batches;
    EXPECT_DOUBLE_EQ(simulation.makespan(), 3.0 * (v_m + stages - 1));
    EXPECT_NEAR(simulation.bubble(), (stages - 1) / (v_m + stages - 1), 1e-12);
  });
}

// A chunk of an interleaved stage takes a v-th of the time that the stage's layers take in one piece.
TEST(PipelineSchedule, AnyNumberOfInterleavedMicroBatchesTakesNoLongerThanOneForwardOneBackward) {
  for_all_interleaved([](int stages, int micro_batches, int chunks) {
    Simulation simulation(kInterleaved, stages, micro_batches, {.forward = 1, .input = 2, .weight = 0}, chunks);
    simulation.run();
    EXPECT_LE(simulation.makespan(), 3.0 * chunks * (micro_batches + stages - 1));
    EXPECT_GE(simulation.makespan(), 3.0 * (chunks * micro_batches + stages - 1));
  });
}

// Up to p micro-batches: the last one starts m - 1 units late and passes p v chunks both ways.
TEST(PipelineSchedule, OneInterleavedGroupTakesItsPassOfTheModelAndAUnitForEachFurtherMicroBatch) {
  for (const int micro_batches : {1, 2, 3, 4}) {
    Simulation simulation(kInterleaved, 4, micro_batches, {.forward = 1, .input = 2, .weight = 0}, 2);
    simulation.run();
    EXPECT_DOUBLE_EQ(simulation.makespan(), 3.0 * (8 + micro_batches - 1));
  }
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
