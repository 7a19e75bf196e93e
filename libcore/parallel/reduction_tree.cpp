// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/reduction_tree.h"

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

bool are_siblings(const TreeNode& left, const TreeNode& right) {
  return left.level == right.level && left.index % 2 == 0 && left.index + 1 == right.index;
}

TreeNode parent_of(const TreeNode& node) { return {node.level + 1, node.index / 2}; }

}  // namespace

LeafSums sum_leaves(std::int64_t first, std::int64_t count) {
  check(first >= 0 && count >= 1, "a replica has micro-batches");
  LeafSums sums;
  for (std::int64_t leaf = first; leaf < first + count; ++leaf) {
    const std::size_t before = sums.nodes.size();
    TreeNode node{0, leaf};
    while (!sums.nodes.empty() && are_siblings(sums.nodes.back(), node)) {
      node = parent_of(node);
      sums.nodes.pop_back();
    }
    sums.leaves.push_back({before, before - sums.nodes.size()});
    sums.nodes.push_back(node);
  }
  return sums;
}

std::vector<Addition> additions_to_root(std::span<const TreeNode> nodes) {
  struct Placed {
    TreeNode node;
    std::size_t place;
  };
  std::vector<Placed> open;
  std::vector<Addition> additions;
  const auto add_newest = [&] {
    const std::size_t from = open.back().place;
    open.pop_back();
    additions.push_back({open.back().place, from});
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    open.push_back({nodes[i], i});
    while (open.size() > 1 && are_siblings(open[open.size() - 2].node, open.back().node)) {
      add_newest();
      open.back().node = parent_of(open.back().node);
    }
  }
  // What is left has no right sibling: the nodes between it and its left one are its own.
  while (open.size() > 1) add_newest();
  return additions;
}

}  // namespace convoy::parallel
