// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/clock.h"

#include <gtest/gtest.h>

namespace convoy {
namespace {

TEST(Clock, CountsSecondsFromTheStart) {
  const auto start = std::chrono::steady_clock::now() - std::chrono::milliseconds(2500);
  EXPECT_GE(seconds_since(start), 2.5);
  EXPECT_LT(seconds_since(start), 62.5) << "a minute is long even for a busy machine";
}

}  // namespace
}  // namespace convoy
