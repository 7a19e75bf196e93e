// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/pair_counter.h"

#include <gtest/gtest.h>

#include <map>

namespace convoy::data {
namespace {

TEST(PairCounter, CountsAsAMapDoes) {
  PairCounter counter(100000);
  std::map<std::uint64_t, std::int64_t> expected;
  std::uint64_t state = 3;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t key = (state >> 40) % 30000;
    ASSERT_TRUE(counter.add(key << 32));
    ++expected[key << 32];
  }
  for (const auto& [key, count] : expected) EXPECT_EQ(counter.count(key), count);
  EXPECT_EQ(counter.count(5), 0);
  EXPECT_EQ(PairCounter(10).count(0), 0) << "key 0 is a key like others";
}

TEST(PairCounter, SaysWhenItIsFullAndCanBeEmptied) {
  PairCounter counter(2);
  EXPECT_TRUE(counter.add(1));
  EXPECT_TRUE(counter.add(2));
  EXPECT_FALSE(counter.add(3));
  EXPECT_TRUE(counter.add(2)) << "known keys still count";
  EXPECT_EQ(counter.count(2), 2);
  EXPECT_EQ(counter.count(3), 0);
  counter.clear();
  EXPECT_EQ(counter.count(2), 0);
  EXPECT_TRUE(counter.add(3));
}

}  // namespace
}  // namespace convoy::data
