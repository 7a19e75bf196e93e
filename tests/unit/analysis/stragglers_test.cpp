// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/analysis/made_comparison.h"

namespace convoy::analysis {
namespace {

using trace::Phase;

constexpr double kPoints = 1.0;  // of excess_percent: jitter of 1 % over some tens of steps

std::vector<int> ranks_of(const Judgement& judgement) {
  std::vector<int> ranks;
  for (const Straggler& straggler : judgement.stragglers) ranks.push_back(straggler.rank);
  return ranks;
}

auto slow(int slow_rank, std::size_t slow_phase, double factor, std::int64_t first = 1, std::int64_t last = 1 << 30) {
  return [=](int rank, std::int64_t step, std::size_t phase) {
    return rank == slow_rank && phase == slow_phase && step >= first && step <= last ? factor : 1.0;
  };
}

TEST(Stragglers, ASlowRankIsNamedWithPhaseExcessAndCost) {
  const auto judgement = find_stragglers(
      make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 8}, .factor = slow(3, kForwardIndex, 1.2)}));
  ASSERT_THAT(ranks_of(judgement), testing::ElementsAre(3));
  const Straggler& straggler = judgement.stragglers[0];
  EXPECT_EQ(straggler.cause, Cause::kCompute);
  EXPECT_EQ(straggler.phase, Phase::kForward);
  EXPECT_EQ(straggler.host, "n0");
  EXPECT_EQ(straggler.at.data, 3);
  EXPECT_NEAR(straggler.excess_percent, 20.0, kPoints);
  EXPECT_GE(straggler.steps_affected, 98);
  EXPECT_FALSE(straggler.against_itself);
  // 8 ms of 160 ms.
  EXPECT_NEAR(straggler.step_excess_percent, 100.0 * 8.0 / 160.0, 0.3);
  EXPECT_NEAR(straggler.lost_percent, straggler.step_excess_percent, 0.2);
}

TEST(Stragglers, AFaultForAWhileIsFoundInItsSteps) {
  const auto judgement = find_stragglers(make_comparison({.layout = {.tensor = 2, .pipeline = 1, .data = 2},
                                                          .steps = 200,
                                                          .factor = slow(2, kBackwardIndex, 1.3, 61, 100)}));
  ASSERT_THAT(ranks_of(judgement), testing::ElementsAre(2));
  const Straggler& straggler = judgement.stragglers[0];
  EXPECT_EQ(straggler.first_step, 61);
  EXPECT_EQ(straggler.last_step, 100);
  EXPECT_EQ(straggler.steps_affected, 40);
  EXPECT_NEAR(straggler.excess_percent, 30.0, kPoints);
  EXPECT_NEAR(straggler.lost_percent, straggler.step_excess_percent * 0.2, 0.8);
}

TEST(Stragglers, OfTwoRanksTheSlowerOneIsNamed) {
  const auto judgement = find_stragglers(
      make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 2}, .factor = slow(0, kForwardIndex, 1.2)}));
  ASSERT_THAT(ranks_of(judgement), testing::ElementsAre(0));
  EXPECT_NEAR(judgement.stragglers[0].excess_percent, 20.0, kPoints);
}

TEST(Stragglers, ARankWithoutPeersIsComparedWithItsOtherSteps) {
  for (const int stages : {2, 4}) {
    const auto factor = [](int rank, std::int64_t step, std::size_t phase) {
      return (1.0 + rank) * (rank == 1 && phase == kForwardIndex && step > 40 ? 1.5 : 1.0);
    };
    const auto judgement =
        find_stragglers(make_comparison({.layout = {.tensor = 1, .pipeline = stages, .data = 1}, .factor = factor}));
    ASSERT_THAT(ranks_of(judgement), testing::ElementsAre(1)) << stages;
    EXPECT_TRUE(judgement.stragglers[0].against_itself);
    EXPECT_NEAR(judgement.stragglers[0].excess_percent, 50.0, kPoints);
    EXPECT_EQ(judgement.stragglers[0].first_step, 41);
    EXPECT_EQ(judgement.stragglers[0].steps_affected, 60);
  }
}

// Of four ranks without peers, a slow one shifts what the others are compared with, and more so the noisier steps are.
TEST(Stragglers, ASlowRankWithoutPeersMakesNoOtherSlow) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto judgement = find_stragglers(make_comparison({.layout = {.tensor = 1, .pipeline = 4, .data = 1},
                                                            .steps = 120,
                                                            .jitter = 0.12,
                                                            .seed = seed,
                                                            .factor = slow(1, kForwardIndex, 1.5, 61)}));
    EXPECT_THAT(ranks_of(judgement), testing::ElementsAre(1)) << seed;
  }
}

// Of ten times the usual work: steps of 1.3 s. A rank is slow in steps 20 to 28 or 29.
TEST(Stragglers, NineSlowStepsAreTooFewAndTenAreEnough) {
  for (const std::int64_t last : {28, 29}) {
    const auto judgement = find_stragglers(make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 4},
                                                            .base = {20, 400, 800, 100, 0},
                                                            .factor = slow(2, kForwardIndex, 1.5, 20, last)}));
    EXPECT_EQ(judgement.stragglers.size(), last == 28 ? 0u : 1u) << last;
  }
}

// Slow steps take 2 + 60 + 80 + 10 + 20 = 172 ms: 14 of them 2.4 s, 15 of them 2.6 s.
TEST(Stragglers, ASpellOfLessThanTwoAndAHalfSecondsIsWorthNoName) {
  for (const std::int64_t last : {33, 34}) {
    const auto judgement = find_stragglers(make_comparison(
        {.layout = {.tensor = 1, .pipeline = 1, .data = 4}, .factor = slow(2, kForwardIndex, 1.5, 20, last)}));
    EXPECT_EQ(judgement.stragglers.size(), last == 33 ? 0u : 1u) << last;
  }
}

// Of the 80 steps from 20 to 99 every fifth or every twelfth is a healthy one; the steps before them are, too.
TEST(Stragglers, APartOfTheRunWithHealthyStepsInItIsNoise) {
  for (const std::int64_t healthy : {5, 12}) {
    const auto factor = [healthy](int rank, std::int64_t step, std::size_t phase) {
      const bool is_slow = step >= 20 && step <= 99 && (step - 19) % healthy != 0;
      return rank == 2 && phase == kForwardIndex && is_slow ? 1.5 : 1.0;
    };
    const auto judgement =
        find_stragglers(make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 4}, .factor = factor}));
    EXPECT_EQ(judgement.stragglers.size(), healthy == 5 ? 0u : 1u) << healthy;
  }
}

// Of the 40 steps from 20 to 59 every eighth or every twelfth is a healthy one.
TEST(Stragglers, AShortIntervalWithHealthyStepsInItIsNoise) {
  for (const std::int64_t healthy : {8, 12}) {
    const auto factor = [healthy](int rank, std::int64_t step, std::size_t phase) {
      const bool is_slow = step >= 20 && step <= 59 && (step - 19) % healthy != 0;
      return rank == 2 && phase == kForwardIndex && is_slow ? 1.5 : 1.0;
    };
    const auto judgement =
        find_stragglers(make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 4}, .factor = factor}));
    EXPECT_EQ(judgement.stragglers.size(), healthy == 8 ? 0u : 1u) << healthy;
  }
}

// What another process on the machine does to a rank for a few steps.
TEST(Stragglers, ASpellOfNoiseIsNoFault) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto judgement = find_stragglers(make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 4},
                                                            .steps = 120,
                                                            .jitter = 0.08,
                                                            .seed = seed,
                                                            .factor = slow(0, kForwardIndex, 1.25, 3, 16)}));
    EXPECT_TRUE(judgement.stragglers.empty()) << seed;
  }
}

TEST(Stragglers, NoisyRanksAreHealthy) {
  for (const Layout& layout :
       {Layout{.tensor = 1, .pipeline = 1, .data = 4}, Layout{.tensor = 1, .pipeline = 4, .data = 1},
        Layout{.tensor = 1, .pipeline = 1, .data = 2}}) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      const auto judgement = find_stragglers(make_comparison({.layout = layout, .jitter = 0.12, .seed = seed}));
      EXPECT_TRUE(judgement.stragglers.empty()) << layout.data << ", " << seed;
    }
  }
}

TEST(Stragglers, AStageWithMoreWorkIsNone) {
  const auto judgement = find_stragglers(
      make_comparison({.layout = {.tensor = 2, .pipeline = 4, .data = 2},
                       .factor = [](int rank, std::int64_t, std::size_t) { return rank / 2 % 4 == 3 ? 1.8 : 1.0; }}));
  EXPECT_TRUE(judgement.stragglers.empty());
  EXPECT_TRUE(judgement.judged);
}

TEST(Stragglers, WhatSlowsAllAlikeIsNobodysFault) {
  const auto judgement = find_stragglers(
      make_comparison({.layout = {.tensor = 1, .pipeline = 4, .data = 1},
                       .factor = [](int, std::int64_t step, std::size_t) { return step > 50 ? 2.0 : 1.0; }}));
  EXPECT_TRUE(judgement.stragglers.empty());
}

TEST(Stragglers, OneSlowStepMakesNone) {
  const auto judgement = find_stragglers(make_comparison(
      {.layout = {.tensor = 1, .pipeline = 1, .data = 4}, .factor = slow(1, kForwardIndex, 60.0, 50, 50)}));
  EXPECT_TRUE(judgement.stragglers.empty());
}

TEST(Stragglers, ManyAreNamedAtOnceTheCostliestFirst) {
  const auto factor = [](int rank, std::int64_t, std::size_t phase) {
    if (rank == 1 && phase == kForwardIndex) return 1.2;
    if (rank == 6 && phase == kBackwardIndex) return 1.5;
    if (rank == 9 && phase == kDataIndex) return 20.0;
    return 1.0;
  };
  const auto judgement =
      find_stragglers(make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 12}, .factor = factor}));
  EXPECT_THAT(ranks_of(judgement), testing::ElementsAre(6, 9, 1));
  EXPECT_EQ(judgement.stragglers[1].cause, Cause::kData);
}

TEST(Stragglers, ARankThatIsSlowThroughoutIsListedWithEachPhaseThatCosts) {
  const auto judgement = find_stragglers(
      make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 8},
                       .factor = [](int rank, std::int64_t, std::size_t) { return rank == 5 ? 1.3 : 1.0; }}));
  ASSERT_THAT(ranks_of(judgement), testing::ElementsAre(5, 5));  // data and optimizer cost little beside them
  EXPECT_EQ(judgement.stragglers[0].phase, Phase::kBackward);
  EXPECT_EQ(judgement.stragglers[1].phase, Phase::kForward);
}

TEST(Stragglers, AllRanksOfAHostAreItsFault) {
  for (const int hosts : {2, 4}) {
    const auto judgement =
        find_stragglers(make_comparison({.layout = {.tensor = 4, .pipeline = 1, .data = hosts},
                                         .ranks_per_host = 4,
                                         .factor = [](int rank, std::int64_t, std::size_t phase) {
                                           return rank / 4 == 1 && phase == kForwardIndex ? 1.25 : 1.0;
                                         }}));
    EXPECT_THAT(ranks_of(judgement), testing::UnorderedElementsAre(4, 5, 6, 7)) << hosts;
    for (const Straggler& straggler : judgement.stragglers) EXPECT_EQ(straggler.cause, Cause::kHost);
  }
}

TEST(Stragglers, StallsThatMoveNameNoSingleRank) {
  const auto judgement = find_stragglers(make_comparison(
      {.layout = {.tensor = 1, .pipeline = 1, .data = 8}, .factor = [](int rank, std::int64_t step, std::size_t phase) {
         return phase == kDataIndex && step % 8 == rank ? 30.0 : 1.0;
       }}));
  EXPECT_TRUE(judgement.stragglers.empty());
  EXPECT_THAT(judgement.abstained, testing::ElementsAre(testing::HasSubstr("move between ranks")));
}

TEST(Stragglers, RankZeroWritesMoreOfACheckpointWithoutBeingOne) {
  const auto judgement = find_stragglers(make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 4},
                                                          .base = {2, 40, 80, 10, 20},
                                                          .factor = [](int rank, std::int64_t step, std::size_t phase) {
                                                            if (phase != kCheckpointIndex) return 1.0;
                                                            return step % 5 == 0 ? (rank == 0 ? 400.0 : 1.0) : 0.0;
                                                          }}));
  EXPECT_TRUE(judgement.stragglers.empty());
}

TEST(Stragglers, ARankThatSavesSlowlyIsOneForItsCheckpoints) {
  const auto judgement = find_stragglers(make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 4},
                                                          .base = {2, 40, 80, 10, 50},
                                                          .factor = [](int rank, std::int64_t step, std::size_t phase) {
                                                            if (phase != kCheckpointIndex) return 1.0;
                                                            return step % 5 == 0 ? (rank == 2 ? 3.0 : 1.0) : 0.0;
                                                          }}));
  ASSERT_THAT(ranks_of(judgement), testing::ElementsAre(2));
  EXPECT_EQ(judgement.stragglers[0].cause, Cause::kCheckpoint);
  EXPECT_NEAR(judgement.stragglers[0].excess_percent, 200.0, 5.0);
}

TEST(Stragglers, AreJudgedWithoutNoiseToo) {
  const Layout layout{.tensor = 1, .pipeline = 1, .data = 8};
  EXPECT_TRUE(find_stragglers(make_comparison({.layout = layout, .jitter = 0.0})).stragglers.empty());
  const auto judgement =
      find_stragglers(make_comparison({.layout = layout, .jitter = 0.0, .factor = slow(7, kForwardIndex, 10.0)}));
  ASSERT_THAT(ranks_of(judgement), testing::ElementsAre(7));
  EXPECT_NEAR(judgement.stragglers[0].excess_percent, 900.0, kPoints);
}

TEST(Stragglers, ATenthOfAPercentOfTheStepIsWorthNoName) {
  // The data phase is 2 ms of 152: a tenth of it is 0.13 %.
  const auto judgement = find_stragglers(make_comparison(
      {.layout = {.tensor = 1, .pipeline = 1, .data = 8}, .jitter = 0.001, .factor = slow(4, kDataIndex, 1.1)}));
  EXPECT_TRUE(judgement.stragglers.empty());
}

TEST(Stragglers, TooFewStepsAreNotJudged) {
  const auto judgement = find_stragglers(make_comparison(
      {.layout = {.tensor = 1, .pipeline = 1, .data = 4}, .steps = 9, .factor = slow(1, kForwardIndex, 2.0)}));
  EXPECT_FALSE(judgement.judged);
  EXPECT_TRUE(judgement.stragglers.empty());
  EXPECT_THAT(judgement.abstained, testing::ElementsAre(testing::HasSubstr("9 steps")));
}

TEST(Stragglers, NobodyIsNamedWhereATeamOfThreadsLackedCores) {
  Comparison comparison =
      make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 4}, .factor = slow(1, kForwardIndex, 2.0)});
  comparison.starved = {0.0F, 0.2F, 0.0F, 0.0F};
  EXPECT_EQ(ranks_of(find_stragglers(comparison)), std::vector{1});  // one thread: its delay is exact
  comparison.threads = 2;
  const auto judgement = find_stragglers(comparison);
  EXPECT_FALSE(judgement.judged);
  EXPECT_THAT(judgement.abstained, testing::ElementsAre(testing::StartsWith("host starved: rank 1")));
  comparison.starved = {0.0F, 0.05F, 0.0F, 0.0F};
  EXPECT_EQ(ranks_of(find_stragglers(comparison)), std::vector{1});
}

TEST(Stragglers, ASetThatLacksMostOfItsTracesIsNotCompared) {
  Comparison comparison =
      make_comparison({.layout = {.tensor = 1, .pipeline = 2, .data = 4}, .factor = slow(1, kForwardIndex, 2.0)});
  comparison.ranks[3].present = comparison.ranks[5].present = false;  // of stage 1: ranks 1, 3, 5, 7
  const auto judgement = find_stragglers(comparison);
  EXPECT_TRUE(judgement.stragglers.empty());
  EXPECT_THAT(judgement.abstained, testing::ElementsAre(testing::StartsWith("stage 1: 2 of 4")));
}

TEST(Stragglers, OneRankIsComparedWithNobody) {
  const auto judgement = find_stragglers(make_comparison({.layout = {}}));
  EXPECT_FALSE(judgement.judged);
  EXPECT_TRUE(judgement.stragglers.empty());
}

TEST(Stragglers, RanksThatEndEarlyAreComparedWhileTheyLast) {
  const auto factor = [](int rank, std::int64_t step, std::size_t phase) {
    if (rank == 2 && step > 60) return -1.0;
    return rank == 2 && phase == kForwardIndex ? 1.3 : 1.0;
  };
  const auto judgement =
      find_stragglers(make_comparison({.layout = {.tensor = 1, .pipeline = 1, .data = 4}, .factor = factor}));
  ASSERT_THAT(ranks_of(judgement), testing::ElementsAre(2));
  EXPECT_EQ(judgement.stragglers[0].last_step, 60);
}

}  // namespace
}  // namespace convoy::analysis
