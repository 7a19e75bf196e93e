// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/communication.h"

#include <gtest/gtest.h>

namespace convoy::analysis {
namespace {

using trace::Operation;

TEST(SplitCalls, WhatIsLongerThanTheFastestMembersIsWaiting) {
  // Call 1: 5, 2, 4 s: transfer 2 each, waiting 3 + 0 + 2. Call 2: 1, 1, 3 s: transfer 1 each, waiting 2.
  std::vector<MemberCall> calls = {
      {.sequence = 2, .member = 1, .seconds = 1}, {.sequence = 1, .member = 0, .seconds = 5},
      {.sequence = 1, .member = 2, .seconds = 4}, {.sequence = 2, .member = 0, .seconds = 1},
      {.sequence = 1, .member = 1, .seconds = 2}, {.sequence = 2, .member = 2, .seconds = 3},
  };
  const WaitSplit split = split_calls(calls, 3);
  EXPECT_EQ(split.calls, 2);
  EXPECT_DOUBLE_EQ(split.transferring, 9.0);
  EXPECT_DOUBLE_EQ(split.waiting, 7.0);
}

TEST(SplitCalls, CountOnlyWhereEveryMemberHasThem) {
  std::vector<MemberCall> calls = {
      {.sequence = 1, .member = 0, .seconds = 5},  // member 1's record is lost
      {.sequence = 2, .member = 0, .seconds = 2},
      {.sequence = 2, .member = 0, .seconds = 3},                                      // twice the same
      {.sequence = 3, .member = 0, .operation = Operation::kAllReduce, .seconds = 1},  // not the same call
      {.sequence = 3, .member = 1, .operation = Operation::kBarrier, .seconds = 1},
      {.sequence = 4, .member = 0, .seconds = 2},
      {.sequence = 4, .member = 1, .seconds = 3},
  };
  const WaitSplit split = split_calls(calls, 2);
  EXPECT_EQ(split.calls, 1);
  EXPECT_DOUBLE_EQ(split.transferring, 4.0);
  EXPECT_DOUBLE_EQ(split.waiting, 1.0);
}

TEST(SplitCalls, OfNothingIsNothing) {
  std::vector<MemberCall> none;
  EXPECT_EQ(split_calls(none, 4).calls, 0);
}

}  // namespace
}  // namespace convoy::analysis
