// SPDX-License-Identifier: Apache-2.0
// Times and run-delays here are what the test says: the clock is an argument, the scheduler's statistics are a file.
#include "libcore/trace/phase_times.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/support/tmp_dir.h"

namespace convoy::trace {
namespace {

constexpr std::uint64_t kUs = 1000, kMs = 1'000'000;

class PhaseTimesTest : public testing::Test {
 protected:
  // In place: a file that is cut to nothing and written again is flushed to the disk.
  void set_delay(std::uint64_t ns) {
    std::fstream(folder_ / "schedstat", std::ios::in | std::ios::out) << fmt::format("123456789 {:020} 42\n", ns);
  }
  std::uint64_t wall(Phase phase) const { return times_.times()[static_cast<std::size_t>(phase)].wall_ns; }
  std::uint64_t delay(Phase phase) const { return times_.times()[static_cast<std::size_t>(phase)].delay_ns; }
  // Three steps without delay: cores are not short.
  void learn_that_cores_are_free() {
    for (int step = 0; step < 3; ++step) {
      times_.begin_step(step * kMs);
      times_.end_step((step + 1) * kMs);
    }
    ASSERT_FALSE(times_.cores_are_short());
  }

  support::TmpDir folder_;
  PhaseTimes times_{folder_.write("schedstat", "0 0 0\n")};
};

TEST_F(PhaseTimesTest, AnInnerPhaseTakesItsTimeFromTheOuterOne) {
  times_.begin_step(1000);
  times_.enter(Phase::kForward, 1010);
  times_.enter(Phase::kTensorComm, 1030);
  times_.leave(1070);
  times_.leave(1075);
  times_.end_step(1100);
  EXPECT_EQ(wall(Phase::kOther), 10u + 25u);
  EXPECT_EQ(wall(Phase::kForward), 20u + 5u);
  EXPECT_EQ(wall(Phase::kTensorComm), 40u);
  EXPECT_EQ(times_.duration_ns(), 100u);
}

TEST_F(PhaseTimesTest, SumToTheStepWhateverIsOpenedAndClosed) {
  std::mt19937 random(7);
  std::uint64_t now = 5;
  for (int step = 0; step < 10; ++step) {
    const std::uint64_t start = now;
    times_.begin_step(now);
    for (int i = 0; i < 60; ++i) {
      now += random() % 100'000;
      set_delay(now / 3);
      if (random() % 2 == 0) {
        times_.enter(static_cast<Phase>(random() % kPhases), now);
      } else {
        times_.leave(now);
      }
    }
    now += 1;
    times_.end_step(now);
    std::uint64_t sum = 0;
    for (const PhaseTime& time : times_.times()) {
      EXPECT_LE(time.delay_ns, time.wall_ns);
      sum += time.wall_ns;
    }
    EXPECT_EQ(sum, now - start);
  }
}

TEST_F(PhaseTimesTest, AClockThatStepsBackTakesNoTime) {
  times_.begin_step(1000);
  times_.enter(Phase::kData, 900);
  times_.leave(950);
  times_.end_step(1040);
  EXPECT_EQ(wall(Phase::kData), 0u);
  EXPECT_EQ(times_.duration_ns(), 40u);
  times_.begin_step(1040);
  times_.end_step(1040);
  EXPECT_EQ(times_.duration_ns(), 1u);
}

TEST_F(PhaseTimesTest, PhasesDeeperThanTheStackCountAsTheOnesAround) {
  times_.begin_step(0);
  for (int i = 0; i < 32; ++i) times_.enter(Phase::kData, 0);
  times_.enter(Phase::kOptimizer, 10);
  times_.leave(30);
  for (int i = 0; i < 32; ++i) times_.leave(30);
  times_.leave(30);
  EXPECT_EQ(times_.current(), Phase::kOther);
  times_.end_step(50);
  EXPECT_EQ(wall(Phase::kData), 30u);
  EXPECT_EQ(wall(Phase::kOptimizer), 0u);
  EXPECT_EQ(wall(Phase::kOther), 20u);
}

TEST_F(PhaseTimesTest, WithinEvaluationAndCheckpointEverythingIsTheirs) {
  times_.begin_step(0);
  times_.enter(Phase::kEvaluation, 0);
  times_.enter(Phase::kForward, 10);
  times_.enter(Phase::kTensorComm, 30);
  times_.enter(Phase::kDataComm, 40);
  times_.leave(50);
  times_.leave(70);
  times_.leave(75);
  times_.leave(100);
  times_.enter(Phase::kCheckpoint, 100);
  times_.enter(Phase::kWorldComm, 103);
  times_.enter(Phase::kData, 105);
  times_.leave(106);
  times_.leave(110);
  times_.leave(150);
  times_.end_step(150);
  EXPECT_EQ(wall(Phase::kEvaluation), 60u);
  EXPECT_EQ(wall(Phase::kEvaluationComm), 40u);
  EXPECT_EQ(wall(Phase::kCheckpoint), 44u);
  EXPECT_EQ(wall(Phase::kCheckpointComm), 6u);
  EXPECT_EQ(wall(Phase::kForward) + wall(Phase::kTensorComm) + wall(Phase::kData) + wall(Phase::kDataComm), 0u);
}

TEST_F(PhaseTimesTest, WhileCoresAreShortTheDelayGoesToThePhaseThatHadIt) {
  times_.begin_step(0);
  times_.enter(Phase::kForward, 0);
  times_.enter(Phase::kTensorComm, 4 * kUs);  // too soon for a reading
  set_delay(3 * kMs);
  times_.leave(4 * kMs);
  set_delay(5 * kMs);  // of the forward that follows
  times_.leave(7 * kMs);
  times_.end_step(7 * kMs);
  EXPECT_EQ(delay(Phase::kTensorComm), 3 * kMs);
  EXPECT_EQ(delay(Phase::kForward), 2 * kMs);
  EXPECT_EQ(delay(Phase::kOther), 0u);
}

// Ranks that share cores wait in their collectives, between computations that are short.
TEST_F(PhaseTimesTest, WhatACollectiveWaitedIsNotTheShortComputationsBehindIt) {
  times_.begin_step(0);
  times_.enter(Phase::kForward, 0);
  times_.enter(Phase::kTensorComm, 50 * kUs);
  set_delay(60 * kUs);
  times_.leave(120 * kUs);
  times_.leave(170 * kUs);
  times_.end_step(170 * kUs);
  EXPECT_EQ(delay(Phase::kTensorComm), 60 * kUs);
  EXPECT_EQ(delay(Phase::kForward), 0u);
}

TEST_F(PhaseTimesTest, ADelayLongerThanItsPhaseIsTheOthersInProportion) {
  times_.begin_step(0);
  times_.enter(Phase::kForward, 0);
  times_.enter(Phase::kTensorComm, 2 * kUs);
  times_.leave(3 * kUs);
  times_.leave(3 * kUs);
  times_.enter(Phase::kBackward, 3 * kUs);
  set_delay(5800);
  times_.leave(8 * kUs);
  times_.end_step(8 * kUs);
  EXPECT_EQ(delay(Phase::kBackward), 5 * kUs);
  EXPECT_NEAR(static_cast<double>(delay(Phase::kForward)), 800.0 * 2 / 3, 1.0);
  EXPECT_NEAR(static_cast<double>(delay(Phase::kTensorComm)), 800.0 / 3, 1.0);
}

TEST_F(PhaseTimesTest, MoreDelayThanTimeIsCutToTheTime) {
  times_.begin_step(0);
  times_.enter(Phase::kForward, 0);
  set_delay(9 * kMs);
  times_.leave(1 * kMs);
  times_.end_step(1 * kMs);
  EXPECT_EQ(delay(Phase::kForward), 1 * kMs);
}

TEST_F(PhaseTimesTest, TheDelayBetweenStepsIsNoPhases) {
  times_.begin_step(0);
  times_.end_step(10 * kMs);
  set_delay(7 * kMs);
  times_.begin_step(20 * kMs);
  times_.end_step(30 * kMs);
  EXPECT_EQ(delay(Phase::kOther), 0u);
}

TEST_F(PhaseTimesTest, WhileCoresAreFreeOnlyTheEndOfAnOutermostPhaseReads) {
  learn_that_cores_are_free();
  times_.begin_step(10 * kMs);
  times_.enter(Phase::kForward, 10 * kMs);
  times_.enter(Phase::kTensorComm, 30 * kMs);
  set_delay(50 * kUs);
  times_.leave(50 * kMs);
  EXPECT_EQ(delay(Phase::kTensorComm), 0u);
  times_.leave(60 * kMs);
  EXPECT_EQ(delay(Phase::kForward), 50 * kUs);
  times_.enter(Phase::kData, 60 * kMs);
  set_delay(60 * kUs);
  times_.leave(62 * kMs);  // too soon after the last reading
  EXPECT_EQ(delay(Phase::kData), 0u);
  times_.end_step(70 * kMs);
  EXPECT_EQ(delay(Phase::kOther), 10 * kUs);
}

TEST_F(PhaseTimesTest, CoresAreShortInTheFirstStepsAndAfterAStepWithDelay) {
  EXPECT_TRUE(times_.cores_are_short());
  for (const bool is_last : {false, false, true}) {
    times_.begin_step(0);
    times_.end_step(100 * kMs);
    EXPECT_EQ(times_.cores_are_short(), !is_last);
  }
  times_.begin_step(0);
  set_delay(1 * kMs);
  times_.end_step(100 * kMs);
  EXPECT_FALSE(times_.cores_are_short());  // one part in a hundred is not more than that
  times_.begin_step(0);
  set_delay(2 * kMs + 1);
  times_.end_step(100 * kMs);
  EXPECT_TRUE(times_.cores_are_short());
  times_.begin_step(0);
  times_.end_step(100 * kMs);
  EXPECT_FALSE(times_.cores_are_short());
}

TEST_F(PhaseTimesTest, SettlingCountsUpToNow) {
  learn_that_cores_are_free();
  times_.begin_step(10 * kMs);
  times_.enter(Phase::kForward, 10 * kMs);
  set_delay(300 * kUs);
  times_.settle(12 * kMs);
  EXPECT_EQ(wall(Phase::kForward), 2 * kMs);
  EXPECT_EQ(delay(Phase::kForward), 300 * kUs);
}

}  // namespace
}  // namespace convoy::trace
