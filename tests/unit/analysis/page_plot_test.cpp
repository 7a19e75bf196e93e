// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/page_plot.h"

#include <gmock/gmock.h>

namespace convoy::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Decades, ReachFromPowerToPower) {
  EXPECT_THAT(decades(1, 1), ElementsAre(1, 10));
  EXPECT_THAT(decades(3, 100), ElementsAre(1, 10, 100));
  EXPECT_THAT(decades(10, 101), ElementsAre(10, 100, 1000));
  EXPECT_THAT(decades(0.02, 0.5), ElementsAre(testing::DoubleEq(0.01), testing::DoubleEq(0.1), 1));
}

TEST(DecadeLabel, HasTheUnitsOfThousands) {
  EXPECT_EQ(decade_label(1), "1");
  EXPECT_EQ(decade_label(100), "100");
  EXPECT_EQ(decade_label(1e4), "10 K");
  EXPECT_EQ(decade_label(1e9), "1 G");
  EXPECT_EQ(decade_label(1e15), "1e15");
  EXPECT_EQ(decade_label(0.01), "1e-2");
}

// The frame is 56 to 508 across and 236 up to 12.
TEST(LogPlot, PutsAPowerLawOnAStraightLine) {
  const std::string svg = plot_figure({.title = "a<b", .x_label = "x", .y_label = "y", .points = {{1, 1000}, {10, 100}, {100, 10}}});
  EXPECT_THAT(svg, HasSubstr("points=\"56.0,12.0 282.0,124.0 508.0,236.0\""));
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
}

TEST(LogPlot, ABarReachesToTwiceItsPlace) {
  const std::string svg = plot_figure({.title = "t", .x_label = "x", .y_label = "y", .points = {{1, 5}, {8, 10}}, .bars = true});
  // log10(2) of two decades is 0.150515 of 452, 68.0; the bar leaves half a unit on both sides.
  EXPECT_THAT(svg, HasSubstr("x=\"56.5\" y=\"124.0\" width=\"67.0\" height=\"112.0\"><title>1-1: 5<"));
  EXPECT_THAT(svg, HasSubstr("<title>8-15: 10<"));
  EXPECT_EQ(plot_figure({.title = "t", .x_label = "x", .y_label = "y", .points = {}}), "");
}

}  // namespace
}  // namespace convoy::analysis
