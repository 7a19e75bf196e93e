// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/sampler.h"

#include <gtest/gtest.h>

#include <set>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

TEST(Sampler, SequentialWindowsStepByTheSequenceLengthAndDropTheTail) {
  const Sampler sampler(23, 5, DataOrder::kSequential, 1);  // windows of 6 at 0, 5, 10, 15; 20 would need token 25
  EXPECT_EQ(sampler.windows(), 4);
  EXPECT_EQ(sampler.first_token(0), 0);
  EXPECT_EQ(sampler.first_token(3), 15);
  EXPECT_EQ(sampler.first_token(4), 0);
  EXPECT_EQ(sampler.epoch(3), 0);
  EXPECT_EQ(sampler.epoch(4), 1);
}

TEST(Sampler, TheLastWindowEndsAtTheLastTokenIfItJustFits) {
  EXPECT_EQ(Sampler(21, 5, DataOrder::kSequential, 1).windows(), 4);
  EXPECT_EQ(Sampler(20, 5, DataOrder::kSequential, 1).windows(), 3);
  EXPECT_EQ(Sampler(6, 5, DataOrder::kSequential, 1).windows(), 1);
}

TEST(Sampler, RefusesAStreamShorterThanOneWindow) {
  EXPECT_THROW(Sampler(5, 5, DataOrder::kShuffled, 1), DataError);
  EXPECT_THROW(Sampler(0, 5, DataOrder::kShuffled, 1), DataError);
  try {
    Sampler(5, 5, DataOrder::kShuffled, 1);
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("5 tokens"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("takes 6"), std::string::npos);
  }
}

TEST(Sampler, EachShuffledEpochHoldsEveryWindowOnce) {
  constexpr std::int64_t kWindows = 1009, kLength = 7;
  const Sampler sampler(kWindows * kLength + 1, kLength, DataOrder::kShuffled, 42);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<std::int64_t> seen;
    for (std::int64_t i = 0; i < kWindows; ++i) {
      const std::int64_t first = sampler.first_token(epoch * kWindows + i);
      EXPECT_EQ(first % kLength, 0);
      EXPECT_LT(first, kWindows * kLength);
      seen.insert(first);
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(kWindows)) << "epoch " << epoch;
  }
}

TEST(Sampler, OrdersDifferBetweenEpochsAndSeedsButNotBetweenCalls) {
  constexpr std::int64_t kWindows = 1009;
  const Sampler a(kWindows + 1, 1, DataOrder::kShuffled, 42), same(kWindows + 1, 1, DataOrder::kShuffled, 42);
  const Sampler other(kWindows + 1, 1, DataOrder::kShuffled, 43);
  int equal_epoch = 0, equal_seed = 0, in_place = 0;
  for (std::int64_t i = 0; i < kWindows; ++i) {
    EXPECT_EQ(a.first_token(i), same.first_token(i));
    equal_epoch += a.first_token(i) == a.first_token(i + kWindows);
    equal_seed += a.first_token(i) == other.first_token(i);
    in_place += a.first_token(i) == i;
  }
  // Each count is binomial with mean 1; 12 or more has a probability below 1e-9.
  constexpr int kMost = 12;
  EXPECT_LT(equal_epoch, kMost);
  EXPECT_LT(equal_seed, kMost);
  EXPECT_LT(in_place, kMost);
}

TEST(Sampler, CountsBeyondThirtyTwoBits) {
  constexpr std::int64_t kTokens = std::int64_t{1} << 40;
  const Sampler sampler(kTokens, 1024, DataOrder::kSequential, 1);
  EXPECT_EQ(sampler.windows(), (kTokens - 1) / 1024);
  EXPECT_EQ(sampler.first_token(std::int64_t{1} << 29), std::int64_t{1} << 39);
}

}  // namespace
}  // namespace convoy::data
