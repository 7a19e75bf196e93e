// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/lists.h"

#include <gtest/gtest.h>

namespace convoy {
namespace {

TEST(KeyValues, AreTakenByTheirKeys) {
  KeyValues keys;
  ASSERT_EQ(keys.parse("rank=3,sleep=20ms,note=a=b,empty="), "");
  EXPECT_TRUE(keys.contains("rank"));
  EXPECT_EQ(keys.take("rank"), "3");
  EXPECT_FALSE(keys.contains("rank"));
  EXPECT_EQ(keys.take("rank"), std::nullopt);
  EXPECT_EQ(keys.take("note"), "a=b");
  EXPECT_EQ(keys.take("empty"), "");
  EXPECT_EQ(keys.unknown("rank, note"), "has an unknown key 'sleep'; known are rank, note");
  EXPECT_EQ(keys.take("sleep"), "20ms");
  EXPECT_EQ(keys.unknown("rank, note"), "");
}

TEST(KeyValues, OfNothingAreNone) {
  KeyValues keys;
  ASSERT_EQ(keys.parse("rank=3"), "");
  ASSERT_EQ(keys.parse(""), "");
  EXPECT_EQ(keys.unknown("rank"), "");
}

TEST(KeyValues, AreRefusedWithTheItemThatIsWrong) {
  KeyValues keys;
  EXPECT_EQ(keys.parse("rank=3,factor"), "has 'factor' where KEY=VALUE is expected");
  EXPECT_EQ(keys.parse("rank=3,,factor=2"), "has '' where KEY=VALUE is expected");
  EXPECT_EQ(keys.parse("rank=3,rank=4"), "names rank twice");
}

TEST(ParseRange, IncludesBothEnds) {
  const Parsed<NumberRange> range = parse_range("10-20"), one = parse_range("7");
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(range.value.first, 10);
  EXPECT_EQ(range.value.last, 20);
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one.value.first, 7);
  EXPECT_EQ(one.value.last, 7);
}

TEST(ParseRange, RefusesWhatIsNone) {
  for (const char* text : {"", "-", "3-", "-3", "20-10", "1-2-3", "a-b", "1,2"})
    EXPECT_FALSE(parse_range(text).ok()) << text;
}

}  // namespace
}  // namespace convoy
