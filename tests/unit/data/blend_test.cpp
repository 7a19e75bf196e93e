// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/blend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> quotas(std::vector<double> weights) { return blend_quotas(weights); }

Sampler in_order(std::int64_t windows) { return {windows + 1, 1, DataOrder::kSequential, 1}; }

TEST(BlendQuotas, AreTheSharesOfThePeriod) {
  EXPECT_THAT(quotas({1.0}), ElementsAre(65536));
  EXPECT_THAT(quotas({1.0, 3.0}), ElementsAre(16384, 49152));
  EXPECT_THAT(quotas({0.25, 0.75}), ElementsAre(16384, 49152));
}

// 65536 / 3 = 21845 1/3: one is left, for the first of equal remainders. 0.7 of 65536 is 45875.2, 0.2 is 13107.2, 0.1 is
// 6553.6: the one that is left goes to the last.
TEST(BlendQuotas, WhatIsLeftGoesToTheLargestRemainders) {
  EXPECT_THAT(quotas({1.0, 1.0, 1.0}), ElementsAre(21846, 21845, 21845));
  EXPECT_THAT(quotas({0.7, 0.2, 0.1}), ElementsAre(45875, 13107, 6554));
}

TEST(BlendQuotas, WeightsMayBeAsLargeOrAsSmallAsNumbersAre) {
  const double largest = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::min();
  EXPECT_THAT(quotas({largest, largest}), ElementsAre(32768, 32768));
  EXPECT_THAT(quotas({least, least, 2.0 * least}), ElementsAre(16384, 16384, 32768));
  EXPECT_THAT(quotas({1e300, 1e-300}), ElementsAre(65536, 0));
}

TEST(Blend, EveryPeriodHoldsTheQuotasExactly) {
  const Blend blend(quotas({0.001, 0.7, 0.299}));
  for (const std::int64_t period : {0, 1, 1000003}) {
    std::vector<std::int64_t> counted(3, 0);
    for (std::int64_t i = 0; i < kBlendPeriod; ++i) ++counted[blend.place(period * kBlendPeriod + i).set];
    EXPECT_EQ(counted, blend.quotas()) << period;
  }
}

TEST(Blend, EverySetCountsItsOwnSamplesWithoutAGap) {
  const Blend blend(quotas({0.6, 0.3, 0.1}));
  std::vector<std::int64_t> next(3, 0);
  for (std::int64_t i = 0; i < 2 * kBlendPeriod + 1000; ++i) {
    const Blend::Place place = blend.place(i);
    ASSERT_EQ(place.sample, next[place.set]) << i;
    if (i % 9973 == 0) {
      EXPECT_EQ(blend.samples_before(i, place.set), next[place.set]) << i;
    }
    ++next[place.set];
  }
}

// Of any number of samples from the start a set has its share, give or take less than one for each other set.
TEST(Blend, SetsAreSpreadEvenlyOverThePeriod) {
  const std::vector<double> weights = {0.5, 0.3, 0.15, 0.05};
  const Blend blend(quotas(weights));
  std::vector<double> counted(4, 0.0);
  for (std::int64_t i = 0; i < kBlendPeriod; ++i) {
    ++counted[blend.place(i).set];
    for (std::size_t set = 0; set < 4; ++set) {
      const double share = static_cast<double>(blend.quotas()[set]) / static_cast<double>(kBlendPeriod);
      ASSERT_LT(std::abs(counted[set] - share * static_cast<double>(i + 1)), 3.0) << i;
    }
  }
}

TEST(Blend, TakesAsManySetsAsItSays) {
  const Blend blend(quotas(std::vector<double>(kMostBlendedSets, 1.0)));
  std::set<std::size_t> first_round;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(kMostBlendedSets); ++i) first_round.insert(blend.place(i).set);
  EXPECT_EQ(first_round.size(), kMostBlendedSets);
}

// Two sets of 3 and 5 windows, 3 to 1: the first is read again and again while the second is still in its first epoch.
TEST(BlendedSampler, EverySetHasItsOwnEpochs) {
  const BlendedSampler sampler({in_order(3), in_order(5)}, std::vector<double>{3.0, 1.0});
  std::vector<std::int64_t> first, second;
  for (std::int64_t i = 0; i < 16; ++i) {
    const BlendedSampler::Window window = sampler.window(i);
    (window.set == 0 ? first : second).push_back(window.first_token);
  }
  EXPECT_THAT(first, ElementsAre(0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2));
  EXPECT_THAT(second, ElementsAre(0, 1, 2, 3));
  EXPECT_DOUBLE_EQ(sampler.epochs(16, 0), 4.0);
  EXPECT_DOUBLE_EQ(sampler.epochs(16, 1), 0.8);
  EXPECT_DOUBLE_EQ(sampler.share(1), 0.25);
}

TEST(BlendedSampler, WithoutWeightsEverySetCountsByItsSamples) {
  const BlendedSampler sampler({in_order(300), in_order(100)}, {});
  EXPECT_DOUBLE_EQ(sampler.share(0), 0.75);
}

TEST(BlendedSampler, OfOneSetIsItsSampler) {
  const Sampler alone(1001, 5, DataOrder::kShuffled, 7);
  const BlendedSampler sampler({alone}, {});
  for (const std::int64_t i : {std::int64_t{0}, std::int64_t{199}, std::int64_t{200}, 3 * kBlendPeriod + 11}) {
    EXPECT_EQ(sampler.window(i).first_token, alone.first_token(i)) << i;
  }
}

TEST(BlendedSampler, SetsOfOneSizeHaveDifferentOrders) {
  const Sampler first(1001, 1, DataOrder::kShuffled, 7, 0), second(1001, 1, DataOrder::kShuffled, 7, 1);
  int alike = 0;
  for (std::int64_t i = 0; i < 1000; ++i) alike += first.first_token(i) == second.first_token(i) ? 1 : 0;
  EXPECT_LT(alike, 20);  // one of a thousand by chance
}

TEST(BlendedSampler, RefusesAWeightThatGivesNoSample) {
  try {
    BlendedSampler({in_order(10), in_order(10)}, std::vector<double>{1.0, 1e-6});
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("data set 2 of 2"), testing::HasSubstr("1.5e-05")));
  }
}

}  // namespace
}  // namespace convoy::data
