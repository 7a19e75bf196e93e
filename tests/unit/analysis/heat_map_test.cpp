// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/heat_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace convoy::analysis {
namespace {

TEST(HeatMap, HasACellForEachRankAndStepOfASmallRun) {
  HeatMap map = make_heat_map(3, 11, 15);
  EXPECT_EQ(map.rows, 3);
  EXPECT_EQ(map.columns, 5);
  add_to(map, 2, 13, 0.5);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 5; ++column) {
      const float cell = map.cells[static_cast<std::size_t>(row * 5 + column)];
      if (row == 2 && column == 2)
        EXPECT_EQ(cell, 0.5F);
      else
        EXPECT_TRUE(std::isnan(cell)) << row << ", " << column;
    }
}

TEST(HeatMap, KeepsTheLargestOfWhatFallsIntoACell) {
  HeatMap map = make_heat_map(1024, 1, 5000);
  EXPECT_EQ(map.ranks_per_row, 2);
  EXPECT_EQ(map.steps_per_column, 3);
  EXPECT_EQ(map.rows, 512);
  EXPECT_EQ(map.columns, 1667);
  add_to(map, 6, 4, -0.2);
  add_to(map, 7, 6, 0.3);
  add_to(map, 7, 5, 0.1);
  add_to(map, 7, 5, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(map.cells[3 * 1667 + 1], 0.3F);
}

TEST(HeatMap, NeverHasMoreThanItsLimits) {
  const HeatMap map = make_heat_map(4097, 1, 1'000'001);
  EXPECT_LE(map.rows, kMapRows);
  EXPECT_LE(map.columns, kMapColumns);
  EXPECT_GE(map.rows * map.ranks_per_row, 4097);
  EXPECT_GE(map.columns * map.steps_per_column, 1'000'001);
}

TEST(HeatMap, OfNothingHasNoCells) {
  EXPECT_TRUE(make_heat_map(4, 1, 0).cells.empty());
  HeatMap map = make_heat_map(2, 1, 2);
  add_to(map, 2, 1, 1.0);  // outside
  add_to(map, 0, 3, 1.0);
  add_to(map, 0, 0, 1.0);
  for (const float cell : map.cells) EXPECT_TRUE(std::isnan(cell));
}

}  // namespace
}  // namespace convoy::analysis
