// SPDX-License-Identifier: Apache-2.0
#include "tests/equivalence/factors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "libcore/base/random.h"

namespace convoy::equivalence {
namespace {

using testing::HasSubstr;

Assignment assignment_of(const std::vector<Factor>& all, const Pair& pair) {
  Assignment row(all.size(), 0);
  row[pair.first] = pair.first_value;
  row[pair.second] = pair.second_value;
  return row;
}

std::string name_of(const std::vector<Factor>& all, const Pair& pair) {
  return all[pair.first].values[pair.first_value].name + " with " + all[pair.second].values[pair.second_value].name;
}

// The meshes by counting: the numbers of (a, b, c) with a b c = n are 1, 3, 3, 6, 3, 9, 3, 10 for n = 1 .. 8.
TEST(Meshes, AreAll38AndLegal) {
  std::set<std::tuple<int, std::int64_t, std::int64_t>> meshes;
  for (const Row& row : all_meshes()) {
    EXPECT_THAT(problems_of(row), testing::IsEmpty()) << text_of(row);
    EXPECT_LE(row.ranks(), kMostRanks);
    EXPECT_EQ(row.options.device.precision, "fp32");
    meshes.insert({row.data, row.options.layout.tensor_parallel, row.options.layout.pipeline_parallel});
  }
  EXPECT_EQ(meshes.size(), 1u + 3 + 3 + 6 + 3 + 9 + 3 + 10);
}

// Whether another value of factor `i` makes any of many random assignments legal or illegal.
bool matters(std::size_t i, const std::vector<std::size_t>& sizes, const Legal& legal) {
  constexpr std::uint64_t kAssignments = 1500;
  for (std::uint64_t n = 0; n < kAssignments; ++n) {
    Assignment row(sizes.size());
    for (std::size_t f = 0; f < sizes.size(); ++f) row[f] = mix64(n * sizes.size() + f) % sizes[f];
    const bool before = legal(row);
    for (row[i] = 0; row[i] < sizes[i]; ++row[i]) {
      if (legal(row) != before) return true;
    }
  }
  return false;
}

// What no row of the array has is what the validation of a run refuses in every combination: all are tried but for
// values of factors that it does not look at.
TEST(CoveringRows, HaveEveryPairThatARunMayHave) {
  const std::vector<Factor> all = factors();
  const std::vector<std::size_t> sizes = sizes_of(all);
  const Legal legal = [&](const Assignment& row) { return is_legal(row_of(all, row)); };
  const std::vector<Assignment> rows = covering_array(sizes, legal, 7);
  EXPECT_THAT(rows, testing::Each(testing::Truly(legal)));
  std::vector<std::size_t> tried = sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) tried[i] = matters(i, sizes, legal) ? sizes[i] : 1;
  EXPECT_LT(std::count(tried.begin(), tried.end(), 1), static_cast<std::ptrdiff_t>(sizes.size()) - 5);
  for (const Pair& pair : uncovered(all_pairs(sizes), rows))
    EXPECT_FALSE(is_possible(pair, tried, legal)) << name_of(all, pair);
}

TEST(CoveringRows, LeaveOutWhatValidationRefuses) {
  const std::vector<Factor> all = factors();
  const auto index = [&](const std::string& factor, const std::string& value) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].name != factor) continue;
      for (std::size_t j = 0; j < all[i].values.size(); ++j) {
        if (all[i].values[j].name == value) return std::pair(i, j);
      }
    }
    throw std::out_of_range(value);
  };
  const auto [tp, one] = index("tp", "tp 1");
  const auto [sp, yes] = index("sequence parallel", "sequence parallel yes");
  EXPECT_THAT(problems_of(row_of(all, assignment_of(all, {tp, one, sp, yes}))),
              testing::ElementsAre(HasSubstr("--sequence-parallel: rows are shared by tensor-parallel ranks")));
}

}  // namespace
}  // namespace convoy::equivalence
