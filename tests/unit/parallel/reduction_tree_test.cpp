// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/reduction_tree.h"

#include <gtest/gtest.h>

#include <string>

namespace convoy::parallel {
namespace {

// What is added to what, as text: leaf 3 is "3", a sum "(01)", whatever the order of its terms.
std::string sum_text(std::int64_t first, std::int64_t last) {
  if (last - first == 1) return std::to_string(first);
  std::int64_t half = 1;
  while (2 * half < last - first) half *= 2;
  return "(" + sum_text(first, first + half) + sum_text(first + half, last) + ")";
}

// Follows the additions of one part of the leaves; the nodes that are left, as texts.
std::vector<std::string> follow(const LeafSums& sums, std::int64_t first) {
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < sums.leaves.size(); ++i) {
    EXPECT_EQ(sums.leaves[i].before, nodes.size());
    std::string newest = std::to_string(first + static_cast<std::int64_t>(i));
    for (std::size_t k = 0; k < sums.leaves[i].added; ++k) {
      newest = "(" + nodes.back() + newest + ")";
      nodes.pop_back();
    }
    nodes.push_back(newest);
  }
  return nodes;
}

std::string total(std::int64_t replicas, std::int64_t micro_batches) {
  std::vector<std::string> texts;
  std::vector<TreeNode> nodes;
  for (std::int64_t r = 0; r < replicas; ++r) {
    const LeafSums sums = sum_leaves(r * micro_batches, micro_batches);
    for (std::string& text : follow(sums, r * micro_batches)) texts.push_back(std::move(text));
    nodes.insert(nodes.end(), sums.nodes.begin(), sums.nodes.end());
    EXPECT_EQ(texts.size(), nodes.size());
  }
  for (const Addition& addition : additions_to_root(nodes))
    texts[addition.into] = "(" + texts[addition.into] + texts[addition.from] + ")";
  return texts.front();
}

TEST(ReductionTree, PairsOfNeighboursAreAddedFirst) {
  EXPECT_EQ(total(1, 1), "0");
  EXPECT_EQ(total(1, 2), "(01)");
  EXPECT_EQ(total(1, 3), "((01)2)");
  EXPECT_EQ(total(1, 4), "((01)(23))");
  EXPECT_EQ(total(1, 6), "(((01)(23))(45))");
  EXPECT_EQ(total(1, 7), "(((01)(23))((45)6))");
}

TEST(ReductionTree, TheReplicasAddWhatOneAloneAdds) {
  for (std::int64_t leaves = 1; leaves <= 60; ++leaves) {
    const std::string one = sum_text(0, leaves);
    for (std::int64_t replicas = 1; replicas <= leaves; ++replicas) {
      if (leaves % replicas == 0) {
        EXPECT_EQ(total(replicas, leaves / replicas), one) << replicas << " replicas, " << leaves << " leaves";
      }
    }
  }
}

TEST(ReductionTree, APartOfThreeLeavesTwoNodes) {
  EXPECT_EQ(sum_leaves(3, 3).nodes, (std::vector<TreeNode>{{0, 3}, {1, 2}}));
  EXPECT_EQ(sum_leaves(0, 3).nodes, (std::vector<TreeNode>{{1, 0}, {0, 2}}));
  EXPECT_EQ(additions_to_root(std::vector<TreeNode>{{1, 0}, {0, 2}, {0, 3}, {1, 2}}),
            (std::vector<Addition>{{1, 2}, {0, 1}, {0, 3}}));
}

TEST(ReductionTree, APowerOfTwoLeavesOneNodeAndKeepsItsLogarithm) {
  for (const std::int64_t rank : {0, 1, 5}) {
    const LeafSums sums = sum_leaves(rank * 8, 8);
    EXPECT_EQ(sums.nodes, (std::vector<TreeNode>{{3, rank}}));
    std::size_t most = 0;
    for (const LeafSums::Leaf& leaf : sums.leaves) most = std::max(most, leaf.before);
    EXPECT_EQ(most, 3u);
  }
}

}  // namespace
}  // namespace convoy::parallel
