// SPDX-License-Identifier: Apache-2.0
// Several long paths of pieces, whose repetitions are stored once: a path is a row of blocks, each of 2^level ids, and a block is two
// blocks of the level below, the same two always being the same block. So a path that repeats itself costs the logarithm of its
// length, and costs nothing to copy.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace convoy::data {

class PathStore {
 public:
  struct Part {
    std::uint32_t level = 0;
    std::uint32_t block = 0;
  };
  using Path = std::vector<Part>;  // levels fall, as the digits of a binary number do

  void push_back(Path& path, std::int32_t id);
  void append_to(const Path& path, std::vector<std::int32_t>& ids) const;
  std::size_t blocks() const { return blocks_.size(); }
  void clear();

 private:
  struct Block {
    std::uint32_t left = 0, right = 0;  // blocks; of level 0: an id
  };
  std::uint32_t number_of(Block block);
  void append_block(Part part, std::vector<std::int32_t>& ids) const;

  std::vector<Block> blocks_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // of a block's two
};

}  // namespace convoy::data
