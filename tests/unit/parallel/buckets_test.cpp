// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

using ::testing::ElementsAre;

std::vector<Bucket> cut(std::vector<std::int64_t> counts, std::int64_t elements, std::vector<std::size_t> alone = {}) {
  return cut_buckets(counts, alone, elements);
}

TEST(Buckets, AreCutFromTheEndUpToTheirSize) {
  EXPECT_THAT(cut({5, 4, 3, 2}, 6), ElementsAre(Bucket{2, 4, 5}, Bucket{1, 2, 4}, Bucket{0, 1, 5}));
  EXPECT_THAT(cut({5, 4, 3, 2}, 14), ElementsAre(Bucket{0, 4, 14}));
}

TEST(Buckets, ATensorLargerThanABucketIsOne) {
  EXPECT_THAT(cut({1, 9, 1, 1}, 4), ElementsAre(Bucket{2, 4, 2}, Bucket{1, 2, 9}, Bucket{0, 1, 1}));
}

TEST(Buckets, WhatGoesAloneComesLast) {
  EXPECT_THAT(cut({1, 1, 1, 1}, 8, {1}), ElementsAre(Bucket{2, 4, 2}, Bucket{0, 1, 1}, Bucket{1, 2, 1}));
  EXPECT_THAT(cut({1, 1, 1}, 8, {2}), ElementsAre(Bucket{0, 2, 2}, Bucket{2, 3, 1}));
  EXPECT_THROW(cut({1}, 8, {1}), InternalError);
}

TEST(Buckets, NoTensorsMakeNoBuckets) { EXPECT_TRUE(cut({}, 8).empty()); }

TEST(Buckets, ARankMajorBufferHoldsEachRanksPiecesInOneRange) {
  // flat_partition(130, 2) = [0, 128), [128, 130); of 64: [0, 64), none; of 100: [0, 64), [64, 100).
  const std::vector<std::int64_t> counts = {7, 130, 64, 100};
  const RankMajor layout(Bucket{1, 4, 294}, counts, 2);
  EXPECT_THAT(layout.counts(), ElementsAre(256, 38));
  EXPECT_EQ(layout.part(0), (Range{0, 256}));
  EXPECT_EQ(layout.part(1), (Range{256, 294}));
  ASSERT_EQ(layout.pieces(0).size(), 3u);
  ASSERT_EQ(layout.pieces(1).size(), 2u);
  EXPECT_EQ(layout.pieces(0)[2].parameter, 3u);
  EXPECT_EQ(layout.pieces(0)[2].offset, 192);
  EXPECT_EQ(layout.pieces(1)[0].parameter, 1u);
  EXPECT_EQ(layout.pieces(1)[0].range, (Range{128, 130}));
  EXPECT_EQ(layout.pieces(1)[0].offset, 256);
  EXPECT_EQ(layout.pieces(1)[1].parameter, 3u);
  EXPECT_EQ(layout.pieces(1)[1].range, (Range{64, 100}));
  EXPECT_EQ(layout.pieces(1)[1].offset, 258);
}

TEST(Buckets, RanksMayHaveNothing) {
  const std::vector<std::int64_t> counts = {3};
  const RankMajor layout(Bucket{0, 1, 3}, counts, 3);
  EXPECT_THAT(layout.counts(), ElementsAre(3, 0, 0));
  EXPECT_TRUE(layout.pieces(2).empty());
  EXPECT_EQ(layout.part(2), (Range{3, 3}));
}

}  // namespace
}  // namespace convoy::parallel
