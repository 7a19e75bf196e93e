// SPDX-License-Identifier: Apache-2.0
#include "libcore/tensor/box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libcore/base/error.h"

namespace convoy::tensor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Box, SaysItsRangesDimensionByDimension) {
  EXPECT_EQ((Box{{2, 0}, {2, 64}}).text(), "[2:4, 0:64]");
  EXPECT_EQ(whole({3, 5}), (Box{{0, 0}, {3, 5}}));
}

TEST(Box, TwoBoxesMeetInABoxOrNotAtAll) {
  EXPECT_EQ(intersection({{0, 0}, {4, 4}}, {{2, 3}, {4, 4}}), (Box{{2, 3}, {2, 1}}));
  EXPECT_EQ(intersection({{0, 0}, {2, 4}}, {{2, 0}, {2, 4}}), std::nullopt) << "they only touch";
}

TEST(Box, AnElementOfABoxHasItsPlaceInTheWhole) {
  // Rows of 10: the box's row 1, column 2 is the whole's row 4, column 7.
  EXPECT_EQ(index_in_whole({6, 10}, {{3, 5}, {2, 4}}, 0), 35);
  EXPECT_EQ(index_in_whole({6, 10}, {{3, 5}, {2, 4}}, 6), 47);
  EXPECT_EQ(index_in_whole({9}, {{4}, {3}}, 2), 6);
}

TEST(Box, ARangeOfAMatrixIsAPartRowWholeRowsAndAPartRow) {
  // Rows of 4: elements 3 .. 13 are the last of row 0, rows 1 and 2, and the first two of row 3.
  EXPECT_THAT(boxes_of_range({{10, 20}, {5, 4}}, 3, 14),
              ElementsAre(Box{{10, 23}, {1, 1}}, Box{{11, 20}, {2, 4}}, Box{{13, 20}, {1, 2}}));
}

TEST(Box, ARangeInsideARowIsOneBox) {
  EXPECT_THAT(boxes_of_range({{0, 8}, {5, 4}}, 5, 7), ElementsAre(Box{{1, 9}, {1, 2}}));
}

TEST(Box, WholeRowsAreOneBox) {
  EXPECT_THAT(boxes_of_range({{0, 0}, {5, 4}}, 0, 20), ElementsAre(Box{{0, 0}, {5, 4}}));
  EXPECT_THAT(boxes_of_range({{0, 0}, {5, 4}}, 4, 12), ElementsAre(Box{{1, 0}, {2, 4}}));
}

TEST(Box, AnEmptyRangeIsNoBox) { EXPECT_THAT(boxes_of_range({{0}, {7}}, 3, 3), IsEmpty()); }

TEST(Box, ARangeOutsideTheBoxIsOurFault) {
  EXPECT_THROW(boxes_of_range({{0}, {7}}, 3, 8), InternalError);
}

// Every range of a small box of three dimensions: the boxes hold its elements once each, in order.
TEST(Box, TheBoxesOfARangeTileItInOrder) {
  const Box box{{1, 2, 3}, {2, 3, 4}};
  for (std::int64_t begin = 0; begin <= box.count(); ++begin) {
    for (std::int64_t end = begin; end <= box.count(); ++end) {
      const std::vector<Box> boxes = boxes_of_range(box, begin, end);
      EXPECT_LE(boxes.size(), 5u);
      std::int64_t next = begin;
      for (const Box& part : boxes) {
        const std::int64_t flat = ((part.offset[0] - 1) * 3 + (part.offset[1] - 2)) * 4 + (part.offset[2] - 3);
        EXPECT_EQ(flat, next) << part.text();
        next += part.count();
      }
      EXPECT_EQ(next, end);
    }
  }
}

}  // namespace
}  // namespace convoy::tensor
