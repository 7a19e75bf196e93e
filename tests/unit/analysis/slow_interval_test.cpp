// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/slow_interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace convoy::analysis {
namespace {

std::vector<float> noisy_step(std::size_t steps, std::size_t first, std::size_t last, double excess, double noise,
                              double level = 0.0) {
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal(level, noise);
  std::vector<float> row(steps);
  for (std::size_t i = 0; i < steps; ++i)
    row[i] = static_cast<float>(normal(engine) + (i >= first && i < last ? excess : 0.0));
  return row;
}

SlowInterval costliest(const std::vector<SlowInterval>& found) {
  return *std::ranges::max_element(found, {},
                                   [](const SlowInterval& slow) { return slow.excess * double(slow.values); });
}

TEST(SlowIntervals, FindTheStepsOfAFaultAtAnyScale) {
  for (const double excess : {0.1, 0.5, 3.0}) {
    const auto found = slow_intervals(noisy_step(200, 60, 100, excess, 0.02), 10, true);
    ASSERT_FALSE(found.empty());
    const SlowInterval slow = costliest(found);
    EXPECT_EQ(slow.steps, (Interval{60, 100})) << excess;
    EXPECT_NEAR(slow.excess, excess, 0.01);
    EXPECT_EQ(slow.affected, 40U);
    EXPECT_EQ(slow.outside, 160U);
  }
}

TEST(SlowIntervals, FindTheHealthyLevelThemselvesWhereItIsUnknown) {
  // Three quarters of the steps are slow, so the median is a slow step's.
  const auto found = slow_intervals(noisy_step(200, 50, 200, 0.4, 0.02, -0.4), 10, false);
  ASSERT_FALSE(found.empty());
  const SlowInterval slow = costliest(found);
  EXPECT_EQ(slow.steps, (Interval{50, 200}));
  EXPECT_NEAR(slow.level, -0.4, 0.01);
  EXPECT_NEAR(slow.excess, 0.4, 0.01);
}

TEST(SlowIntervals, AreNeitherOneStepNorStallsNowAndThen) {
  std::vector<float> row(100, 0.0F);
  row[40] = 5.0F;
  EXPECT_TRUE(slow_intervals(row, 10, true).empty());
  for (std::size_t i = 0; i < row.size(); i += 7) row[i] = 1.0F;
  EXPECT_TRUE(slow_intervals(row, 10, true).empty());
}

TEST(SlowIntervals, OfTooFewStepsOrNoneAreNone) {
  EXPECT_TRUE(slow_intervals(std::vector<float>(9, 1.0F), 10, true).empty());
  EXPECT_TRUE(slow_intervals({}, 10, true).empty());
  EXPECT_TRUE(slow_intervals({}, 10, false).empty());
}

}  // namespace
}  // namespace convoy::analysis
