// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/tiling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace convoy::checkpoint {
namespace {

using tensor::Box;
using tensor::Shape;
using testing::HasSubstr;

TEST(Tiling, TheWholeTensorTilesItself) {
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{2, 3, 4, 5}})
    EXPECT_EQ(tiling_problem(shape, std::vector{tensor::whole(shape)}), "");
}

TEST(Tiling, NamesAHole) {
  const std::vector<Box> boxes = {{Shape{0, 0}, Shape{2, 4}}, {Shape{2, 0}, Shape{1, 3}}};
  EXPECT_EQ(tiling_problem(Shape{3, 4}, boxes), "no fragment holds [2:3, 3:4]");
  EXPECT_EQ(tiling_problem(Shape{3, 4}, {}), "no fragment holds [0:3, 0:4]");
}

TEST(Tiling, NamesAnOverlap) {
  const std::vector<Box> boxes = {{Shape{0, 0}, Shape{2, 4}}, {Shape{1, 3}, Shape{2, 1}}, {Shape{2, 0}, Shape{1, 3}}};
  EXPECT_EQ(tiling_problem(Shape{3, 4}, boxes), "fragments [0:2, 0:4] and [1:3, 3:4] overlap in [1:2, 3:4]");
  const std::vector<Box> twice = {tensor::whole(Shape{3}), tensor::whole(Shape{3})};
  EXPECT_THAT(tiling_problem(Shape{3}, twice), HasSubstr("overlap in [0:3]"));
}

// No straight cut separates the five boxes of a pinwheel.
TEST(Tiling, TakesATilingWithoutAStraightCut) {
  std::vector<Box> boxes = {{Shape{0, 0}, Shape{1, 2}},
                            {Shape{0, 2}, Shape{2, 1}},
                            {Shape{2, 1}, Shape{1, 2}},
                            {Shape{1, 0}, Shape{2, 1}},
                            {Shape{1, 1}, Shape{1, 1}}};
  EXPECT_EQ(tiling_problem(Shape{3, 3}, boxes), "");
  boxes.pop_back();
  EXPECT_EQ(tiling_problem(Shape{3, 3}, boxes), "no fragment holds [1:2, 1:2]");
}

// Against counting every element, on random sets of boxes that often do tile.
TEST(Tiling, AgreesWithCounting) {
  std::mt19937 random(1);
  int tiled = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Shape shape{4, 5, 3};
    std::vector<Box> boxes = {tensor::whole(shape)};
    for (int cut = 0; cut < 6; ++cut) {
      const std::size_t which = random() % boxes.size();
      Box box = boxes[which];
      const int d = static_cast<int>(random() % 3);
      if (box.extent[d] < 2) continue;
      const std::int64_t at = 1 + static_cast<std::int64_t>(random()) % (box.extent[d] - 1);
      boxes.push_back({box.offset.with(d, box.offset[d] + at), box.extent.with(d, box.extent[d] - at)});
      boxes[which].extent = box.extent.with(d, at);
    }
    if (trial % 2 == 1) {  // break it
      Box& box = boxes[random() % boxes.size()];
      const int d = static_cast<int>(random() % 3);
      if (box.extent[d] > 1) box.extent = box.extent.with(d, box.extent[d] - 1);
      if (random() % 2 == 0 && box.offset[d] > 0) box.offset = box.offset.with(d, box.offset[d] - 1);
    }
    std::vector<int> count(static_cast<std::size_t>(shape.count()));
    for (const Box& box : boxes)
      for (std::int64_t i = 0; i < box.extent[0]; ++i)
        for (std::int64_t j = 0; j < box.extent[1]; ++j)
          for (std::int64_t k = 0; k < box.extent[2]; ++k)
            ++count[static_cast<std::size_t>(((box.offset[0] + i) * 5 + box.offset[1] + j) * 3 + box.offset[2] + k)];
    const bool expected = std::all_of(count.begin(), count.end(), [](int n) { return n == 1; });
    tiled += expected ? 1 : 0;
    EXPECT_EQ(tiling_problem(shape, boxes).empty(), expected) << "trial " << trial;
  }
  EXPECT_GT(tiled, 1000);
  EXPECT_LT(tiled, 1900);
}

TEST(Tiling, IsFastForTenThousandFlatRanges) {
  const Shape shape{50257, 768};
  std::vector<Box> boxes;
  constexpr std::int64_t kParts = 4096;
  for (std::int64_t part = 0; part < kParts; ++part) {
    const std::int64_t count = shape.count();
    for (const Box& box :
         tensor::boxes_of_range(tensor::whole(shape), count * part / kParts, count * (part + 1) / kParts))
      boxes.push_back(box);
  }
  ASSERT_GT(boxes.size(), 10000u);
  EXPECT_EQ(tiling_problem(shape, boxes), "");  // quadratic work would run into the test's time limit
  boxes[5000].extent = boxes[5000].extent.with(1, boxes[5000].extent[1] - 1);
  EXPECT_THAT(tiling_problem(shape, boxes), HasSubstr("no fragment holds"));
}

}  // namespace
}  // namespace convoy::checkpoint
