// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/suggest.h"

namespace convoy::app {
namespace {

const std::vector<std::string> kWords = {"steps", "threads", "global-batch-size", "seed"};

TEST(Closest, IsTheWordWithTheFewestEdits) {
  EXPECT_EQ(closest("step", kWords), "steps");
  EXPECT_EQ(closest("treads", kWords), "threads");
  EXPECT_EQ(closest("zzzz", {"ab", "zz"}), "zz");
  EXPECT_EQ(closest("x", {}), "");
}

TEST(CloseEnough, ProposesNothingForAStranger) {
  EXPECT_EQ(close_enough("stepz", kWords), "steps");
  EXPECT_EQ(close_enough("global", kWords), "global-batch-size");
  EXPECT_EQ(close_enough("learning-rate", kWords), "");
  EXPECT_EQ(close_enough("sxxd", kWords), "");
}

}  // namespace
}  // namespace convoy::app
