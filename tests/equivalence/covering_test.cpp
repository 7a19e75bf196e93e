// SPDX-License-Identifier: Apache-2.0
#include "tests/equivalence/covering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace convoy::equivalence {
namespace {

const Legal kAll = [](const Assignment&) { return true; };

TEST(AllPairs, AreTheProductsOfTwoFactorsEach) {
  EXPECT_EQ(all_pairs({2, 3, 2}).size(), 2u * 3 + 2 * 2 + 3 * 2);
  EXPECT_TRUE(all_pairs({5}).empty());
}

TEST(CoveringArray, HasEveryPairInFewRows) {
  const std::vector<std::size_t> sizes = {3, 3, 3, 3, 2, 2, 2, 2};
  const std::vector<Assignment> rows = covering_array(sizes, kAll, 1);
  EXPECT_TRUE(uncovered(all_pairs(sizes), rows).empty());
  // Nine are needed for two factors of three values; all combinations are 1,296.
  EXPECT_GE(rows.size(), 9u);
  EXPECT_LE(rows.size(), 16u);
}

TEST(CoveringArray, IsAFunctionOfItsSeed) {
  const std::vector<std::size_t> sizes = {3, 4, 2, 5};
  EXPECT_EQ(covering_array(sizes, kAll, 1), covering_array(sizes, kAll, 1));
  EXPECT_NE(covering_array(sizes, kAll, 1), covering_array(sizes, kAll, 2));
}

// By hand: of two switches that exclude each other (1, 1) is left out, and with it nothing else.
TEST(CoveringArray, LeavesOutWhatCannotBe) {
  const std::vector<std::size_t> sizes = {2, 2, 3};
  const Legal not_both = [](const Assignment& row) { return row[0] + row[1] < 2; };
  const std::vector<Assignment> rows = covering_array(sizes, not_both, 1);
  EXPECT_THAT(rows, testing::Each(testing::Truly(not_both)));
  EXPECT_THAT(uncovered(all_pairs(sizes), rows), testing::ElementsAre(Pair{0, 1, 1, 1}));
  EXPECT_FALSE(is_possible({0, 1, 1, 1}, sizes, not_both));
  EXPECT_TRUE(is_possible({0, 1, 2, 2}, sizes, not_both));
}

TEST(FullProduct, HasEveryLegalCombinationOnce) {
  EXPECT_THAT(full_product({2, 2}, [](const Assignment& row) { return row[0] + row[1] < 2; }),
              testing::UnorderedElementsAre(Assignment{0, 0}, Assignment{0, 1}, Assignment{1, 0}));
}

}  // namespace
}  // namespace convoy::equivalence
