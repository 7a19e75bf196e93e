// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace convoy::analysis {
namespace {

// Tensor innermost, then pipeline, then data.
std::vector<RankPlace> places(const Layout& layout) {
  std::vector<RankPlace> result;
  for (int data = 0; data < layout.data; ++data)
    for (int pipeline = 0; pipeline < layout.pipeline; ++pipeline)
      for (int tensor = 0; tensor < layout.tensor; ++tensor)
        result.push_back({.at = {.tensor = tensor, .pipeline = pipeline, .data = data}, .host = "n", .present = true});
  return result;
}

std::vector<std::vector<int>> ranks_of(const std::vector<PeerSet>& sets) {
  std::vector<std::vector<int>> result;
  for (const PeerSet& set : sets) result.push_back(set.ranks);
  return result;
}

TEST(PeerSets, AreTheReplicasOfAStageAndTensorPosition) {
  const Layout layout{.tensor = 2, .pipeline = 1, .data = 5};
  const auto sets = peer_sets(layout, places(layout));
  EXPECT_THAT(ranks_of(sets), testing::ElementsAre(std::vector{0, 2, 4, 6, 8}, std::vector{1, 3, 5, 7, 9}));
  EXPECT_EQ(expected_size(layout, sets[0]), 5);
}

TEST(PeerSets, TakeInTensorSiblingsWhereReplicasAreFew) {
  const Layout layout{.tensor = 2, .pipeline = 2, .data = 2};
  const auto sets = peer_sets(layout, places(layout));
  EXPECT_THAT(ranks_of(sets), testing::ElementsAre(std::vector{0, 1, 4, 5}, std::vector{2, 3, 6, 7}));
  EXPECT_EQ(expected_size(layout, sets[1]), 4);
}

TEST(PeerSets, OfAPipelineAloneAreSolitary) {
  const Layout layout{.tensor = 1, .pipeline = 3, .data = 1};
  const auto sets = peer_sets(layout, places(layout));
  EXPECT_THAT(ranks_of(sets), testing::ElementsAre(std::vector{0}, std::vector{1}, std::vector{2}));
  EXPECT_EQ(expected_size(layout, sets[0]), 1);
}

TEST(PeerSets, LeaveOutRanksWithoutATrace) {
  const Layout layout{.tensor = 1, .pipeline = 1, .data = 4};
  std::vector<RankPlace> ranks = places(layout);
  ranks[2].present = false;
  const auto sets = peer_sets(layout, ranks);
  EXPECT_THAT(ranks_of(sets), testing::ElementsAre(std::vector{0, 1, 3}));
  EXPECT_EQ(expected_size(layout, sets[0]), 4);
}

}  // namespace
}  // namespace convoy::analysis
