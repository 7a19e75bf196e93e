// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/excess.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/analysis/made_comparison.h"

namespace convoy::analysis {
namespace {

constexpr double kCode = 0.001;  // two steps of the codes that times are kept in

TEST(ExcessOverPeers, IsTheLogarithmOverTheMedianOfTheOthers) {
  // 40 ms; rank 0 twice, rank 1 three times that: the medians of the others are 40, 40, 80, 80.
  const Comparison comparison = make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 4},
                                                 .steps = 2,
                                                 .jitter = 0.0,
                                                 .factor = [](int rank, std::int64_t, std::size_t) {
                                                   return rank == 0 ? 2.0 : rank == 1 ? 3.0 : 1.0;
                                                 }});
  const Excess excess = excess_over_peers(comparison, kForwardIndex, std::vector<int>{0, 1, 2, 3});
  EXPECT_NEAR(excess.row(0)[0], std::log(2.0), kCode);
  EXPECT_NEAR(excess.row(1)[1], std::log(3.0), kCode);
  EXPECT_NEAR(excess.row(2)[0], std::log(0.5), kCode);
  EXPECT_NEAR(excess.row(3)[1], std::log(0.5), kCode);
}

TEST(ExcessOverPeers, IsAbsentWhereTooFewOfTheSetWorked) {
  // Of four, two recorded step 1 and three step 2; nobody has a checkpoint.
  const Comparison comparison = make_comparison(
      {.layout = {.tensor = 1, .pipeline = 1, .data = 4},
       .steps = 2,
       .jitter = 0.0,
       .factor = [](int rank, std::int64_t step, std::size_t) { return rank >= step + 1 ? -1.0 : 1.0; }});
  const Excess forward = excess_over_peers(comparison, kForwardIndex, std::vector<int>{0, 1, 2, 3});
  EXPECT_TRUE(std::isnan(forward.row(0)[0]));
  EXPECT_NEAR(forward.row(0)[1], 0.0, kCode);
  EXPECT_TRUE(std::isnan(forward.row(3)[1]));
  const Excess checkpoint = excess_over_peers(comparison, kCheckpointIndex, std::vector<int>{0, 1, 2, 3});
  for (const float value : checkpoint.values) EXPECT_TRUE(std::isnan(value));
}

TEST(ExcessOverThemselves, RemovesWhatSlowedAllAlike) {
  // Stages of different work; in steps 8 and 9 everybody takes 3 times as long, rank 2 in step 9 6 times.
  const auto factor = [](int rank, std::int64_t step, std::size_t) {
    return (1.0 + rank) * (step >= 8 ? 3.0 : 1.0) * (rank == 2 && step == 9 ? 2.0 : 1.0);
  };
  const Comparison comparison =
      make_comparison({.layout = {.tensor = 1, .pipeline = 4, .data = 1}, .steps = 9, .jitter = 0.0, .factor = factor});
  const Excess excess = excess_over_themselves(comparison, kForwardIndex, std::vector<int>{0, 1, 2, 3});
  for (std::size_t rank = 0; rank < 4; ++rank)
    for (std::size_t step = 0; step < 9; ++step)
      EXPECT_NEAR(excess.row(rank)[step], rank == 2 && step == 8 ? std::log(2.0) : 0.0, kCode) << rank << ", " << step;
}

TEST(TotalOverPeers, ComparesTheSumOfTheTrainingPhases) {
  // 2 + 40 + 80 + 10 = 132 ms, of which forward is 40: half as long again makes 152.
  const auto factor = [](int rank, std::int64_t, std::size_t phase) {
    return rank == 1 && phase == kForwardIndex ? 1.5 : 1.0;
  };
  const Comparison comparison =
      make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 3}, .steps = 1, .jitter = 0.0, .factor = factor});
  const Excess excess = total_over_peers(comparison, std::vector<int>{0, 1, 2});
  EXPECT_NEAR(std::exp(excess.row(1)[0]), 152.0 / 132.0, 2 * kCode);
}

TEST(NoiseOf, FindsTheStandardDeviationOfStepsAndOfTheirBlocks) {
  std::mt19937_64 engine(3);
  std::normal_distribution<float> normal(0.5F, 0.1F);
  std::vector<float> row(4000);
  for (float& value : row) value = normal(engine);
  const RowNoise noise = noise_of(row);
  EXPECT_EQ(noise.values, 4000U);
  EXPECT_NEAR(noise.step, 0.1, 0.01);
  // The median of ten normal values: 1.18 / sqrt(10) of theirs.
  EXPECT_NEAR(noise.block, 0.1 * 1.18 / std::sqrt(10.0), 0.006);
}

TEST(NoiseOf, OfNothingIsNone) {
  const std::vector<float> row(5, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(noise_of(row).values, 0U);
  EXPECT_EQ(noise_of(row).step, 0.0);
}

TEST(Spread, IsMadeOfTheLowerHalfSoThatHalfOfTheRanksMayBeSlow) {
  Spread spread;
  spread.add({0.5, 0.02, 0.51, 0.0});  // 0.02 - 0.0
  spread.add({0.0, 0.7});              // of two, one may be slow
  EXPECT_EQ(spread.freedom(), 1U);
  EXPECT_NEAR(spread.sigma(), 0.02 / 0.6745, 1e-9);
  EXPECT_EQ(Spread().sigma(), 0.0);
}

}  // namespace
}  // namespace convoy::analysis
