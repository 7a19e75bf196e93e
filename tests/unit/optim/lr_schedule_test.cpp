// SPDX-License-Identifier: Apache-2.0
#include "libcore/optim/lr_schedule.h"

#include <gtest/gtest.h>

namespace convoy::optim {
namespace {

constexpr double kRounding = 1e-15;  // a few units in the last place of rates of order 1

const LrSchedule kCosine{
    .kind = ScheduleKind::kCosine, .peak = 1.0, .minimum = 0.2, .warmup_steps = 4, .decay_steps = 12};

TEST(LrSchedule, WarmupRisesLinearlyFromItsFirstUpdate) {
  EXPECT_DOUBLE_EQ(kCosine.rate(0), 0.25);
  EXPECT_DOUBLE_EQ(kCosine.rate(1), 0.5);
  EXPECT_DOUBLE_EQ(kCosine.rate(2), 0.75);
}

TEST(LrSchedule, WarmupReachesThePeakAtTheLastWarmupStep) { EXPECT_DOUBLE_EQ(kCosine.rate(3), 1.0); }

TEST(LrSchedule, CosineStartsAtThePeakAndPassesTheMiddleHalfWay) {
  EXPECT_NEAR(kCosine.rate(4), 1.0, kRounding);
  EXPECT_NEAR(kCosine.rate(8), 0.6, kRounding);
  EXPECT_NEAR(kCosine.rate(6), 0.2 + 0.8 * (1.0 + 0.70710678118654752) / 2.0, kRounding);
}

TEST(LrSchedule, CosineStaysAtTheMinimumFromTheLastDecayStepOn) {
  EXPECT_DOUBLE_EQ(kCosine.rate(12), 0.2);
  EXPECT_DOUBLE_EQ(kCosine.rate(1000000), 0.2);
}

TEST(LrSchedule, ConstantHoldsThePeakAfterWarmup) {
  const LrSchedule schedule{.kind = ScheduleKind::kConstant, .peak = 0.01, .warmup_steps = 2, .decay_steps = 5};
  EXPECT_DOUBLE_EQ(schedule.rate(0), 0.005);
  EXPECT_DOUBLE_EQ(schedule.rate(1), 0.01);
  EXPECT_DOUBLE_EQ(schedule.rate(100), 0.01);
}

TEST(LrSchedule, WithoutWarmupTheFirstUpdateHasThePeak) {
  const LrSchedule schedule{
      .kind = ScheduleKind::kCosine, .peak = 0.5, .minimum = 0.0, .warmup_steps = 0, .decay_steps = 10};
  EXPECT_DOUBLE_EQ(schedule.rate(0), 0.5);
}

TEST(LrSchedule, DecayThatEndsWithWarmupGoesStraightToTheMinimum) {
  const LrSchedule schedule{
      .kind = ScheduleKind::kCosine, .peak = 0.5, .minimum = 0.1, .warmup_steps = 3, .decay_steps = 3};
  EXPECT_DOUBLE_EQ(schedule.rate(2), 0.5);
  EXPECT_DOUBLE_EQ(schedule.rate(3), 0.1);
}

}  // namespace
}  // namespace convoy::optim
