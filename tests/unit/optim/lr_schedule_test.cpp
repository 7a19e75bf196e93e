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

TEST(LrSchedule, LinearFallsByTheSameAmountEachUpdate) {
  const LrSchedule linear{
      .kind = ScheduleKind::kLinear, .peak = 1.0, .minimum = 0.2, .warmup_steps = 4, .decay_steps = 12};
  EXPECT_DOUBLE_EQ(linear.rate(3), 1.0);
  EXPECT_DOUBLE_EQ(linear.rate(4), 1.0);
  EXPECT_NEAR(linear.rate(5), 0.9, kRounding);
  EXPECT_NEAR(linear.rate(8), 0.6, kRounding);
  EXPECT_NEAR(linear.rate(11), 0.3, kRounding);
  EXPECT_DOUBLE_EQ(linear.rate(12), 0.2);
  EXPECT_DOUBLE_EQ(linear.rate(1000), 0.2);
}

// S 16, D 20: r is 0, 1/4, 1/2, 3/4, 1.
TEST(LrSchedule, WsdHoldsThePeakAndFallsByTheRootOfItsProgress) {
  const LrSchedule wsd{
      .kind = ScheduleKind::kWsd, .peak = 1.0, .minimum = 0.2, .warmup_steps = 4, .decay_steps = 20, .decay_start = 16};
  EXPECT_DOUBLE_EQ(wsd.rate(0), 0.25);
  EXPECT_DOUBLE_EQ(wsd.rate(4), 1.0);
  EXPECT_DOUBLE_EQ(wsd.rate(16), 1.0);
  EXPECT_NEAR(wsd.rate(17), 0.6, kRounding);
  EXPECT_NEAR(wsd.rate(18), 0.2 + 0.8 * (1.0 - 0.70710678118654752), kRounding);
  EXPECT_NEAR(wsd.rate(19), 0.2 + 0.8 * (1.0 - 0.86602540378443865), kRounding);
  EXPECT_DOUBLE_EQ(wsd.rate(20), 0.2);
  EXPECT_DOUBLE_EQ(wsd.rate(1000), 0.2);
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
