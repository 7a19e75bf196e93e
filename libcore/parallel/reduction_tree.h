// SPDX-License-Identifier: Apache-2.0
// The shape in which the gradients of a global batch's micro-batches are added under --reduction tree. Pure.
//
// Node (level, index) is the sum of the leaves, one a micro-batch, [index 2^level, (index + 1) 2^level) as far as there
// are any: that of its two children, or its left child where the right one has no leaf. So a sum depends on the number
// of leaves alone, for any number, and whoever has some neighbouring leaves can add up whatever nodes lie among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace convoy::parallel {

struct TreeNode {
  int level = 0;
  std::int64_t index = 0;
  friend bool operator==(const TreeNode&, const TreeNode&) = default;
};

// How leaves [first, first + count) become as few nodes as they can, one leaf after the other like the digits of a
// binary counter.
struct LeafSums {
  struct Leaf {
    std::size_t before = 0;  // nodes that are there when it comes
    std::size_t added = 0;   // how many of those, from the newest, are added to it; it is then the newest node
    friend bool operator==(const Leaf&, const Leaf&) = default;
  };
  std::vector<Leaf> leaves;
  std::vector<TreeNode> nodes;  // what is left, in the order of their leaves
};
LeafSums sum_leaves(std::int64_t first, std::int64_t count);

// nodes[into] += nodes[from].
struct Addition {
  std::size_t into = 0, from = 0;
  friend bool operator==(const Addition&, const Addition&) = default;
};

// `nodes` are all leaves from the first, in their order; after the additions nodes[0] is the whole sum.
std::vector<Addition> additions_to_root(std::span<const TreeNode> nodes);

}  // namespace convoy::parallel
