// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace convoy::analysis {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoInTheMiddle) {
  std::vector<double> odd = {9, 1, 5}, even = {8, 2, 1, 4}, one = {7};
  EXPECT_EQ(median(odd), 5.0);
  EXPECT_EQ(median(even), 3.0);
  EXPECT_EQ(median(one), 7.0);
}

TEST(Median, OfNothingIsNothing) {
  std::vector<double> none;
  EXPECT_EQ(median(none), std::nullopt);
  EXPECT_EQ(quantile(none, 0.5), std::nullopt);
}

TEST(Quantile, IsTheNearestRank) {
  std::vector<double> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  EXPECT_EQ(quantile(hundred, 0.95), 95.0);
  EXPECT_EQ(quantile(hundred, 0.99), 99.0);
  EXPECT_EQ(quantile(hundred, 1.0), 100.0);
  EXPECT_EQ(quantile(hundred, 0.0), 1.0);
  std::vector<double> two = {3, 4};
  EXPECT_EQ(quantile(two, 0.5), 3.0);
  EXPECT_EQ(quantile(two, 0.95), 4.0);
}

TEST(Present, LeavesOutWhatIsNoNumber) {
  EXPECT_THAT(present(std::vector<float>{kNan, 2, 0, kNan, -1}), testing::ElementsAre(2, 0, -1));
  EXPECT_THAT(present(std::vector<float>{kNan}), testing::IsEmpty());
}

TEST(LeaveOneOut, MediansByHand) {
  const LeaveOneOut four(std::vector<std::int32_t>{10, 40, 20, 30});
  EXPECT_EQ(four.twice_median_without(10), 2 * 30);  // 20 30 40
  EXPECT_EQ(four.twice_median_without(40), 2 * 20);  // 10 20 30
  EXPECT_EQ(four.twice_median_without(20), 2 * 30);  // 10 30 40
  const LeaveOneOut three(std::vector<std::int32_t>{1, 2, 9});
  EXPECT_EQ(three.twice_median_without(1), 2 + 9);
  EXPECT_EQ(three.twice_median_without(9), 1 + 2);
  const LeaveOneOut two(std::vector<std::int32_t>{5, 7});
  EXPECT_EQ(two.twice_median_without(5), 14);
  EXPECT_EQ(two.twice_median_without(7), 10);
}

// Against the plain way: leave it out, sort, take the middle. Ties and both sides of the switch to selection.
TEST(LeaveOneOut, AgreesWithLeavingOutAndSorting) {
  std::mt19937 engine(7);
  for (const std::size_t count : {2, 3, 4, 5, 8, 9, 31, 32, 33, 34, 64, 101}) {
    for (const int distinct : {2, 1000}) {
      std::vector<std::int32_t> values;
      for (std::size_t i = 0; i < count; ++i)
        values.push_back(static_cast<std::int32_t>(engine() % static_cast<unsigned>(distinct)));
      const LeaveOneOut others(values);
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<std::int32_t> rest = values;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
        std::sort(rest.begin(), rest.end());
        const std::size_t n = rest.size();
        const std::int64_t expected =
            n % 2 == 1 ? 2 * std::int64_t{rest[n / 2]} : std::int64_t{rest[n / 2 - 1]} + rest[n / 2];
        EXPECT_EQ(others.twice_median_without(values[i]), expected)
            << count << " values, " << distinct << " distinct, at " << i;
      }
    }
  }
}

TEST(HighestInterval, IsTheStretchOfHighValues) {
  const std::vector<float> values = {0, 0, 1, 1, 1, 0, 0, 1, 0};
  EXPECT_EQ(highest_interval(values, 0.5F), (Interval{2, 5}));
}

TEST(HighestInterval, BridgesAGapThatIsShorterThanWhatLiesBehindIt) {
  const std::vector<float> values = {1, 1, 0, 1, 1, 0, 0, 0, 1};
  EXPECT_EQ(highest_interval(values, 0.5F), (Interval{0, 5}));
}

TEST(HighestInterval, CountsOneHugeValueAsOne) {
  const std::vector<float> values = {1e6F, 0, 0, 1, 1};
  EXPECT_EQ(highest_interval(values, 0.5F), (Interval{3, 5}));
}

TEST(HighestInterval, PassesOverAbsentValues) {
  const std::vector<float> values = {kNan, 1, kNan, kNan, kNan, 1, 0, kNan};
  EXPECT_EQ(highest_interval(values, 0.5F), (Interval{1, 6}));
}

TEST(HighestInterval, IsEmptyWhereNothingIsHigh) {
  EXPECT_EQ(highest_interval(std::vector<float>{0, 0.4F, -3, kNan}, 0.5F).length(), 0U);
  EXPECT_EQ(highest_interval({}, 0.5F).length(), 0U);
}

}  // namespace
}  // namespace convoy::analysis
