// SPDX-License-Identifier: Apache-2.0
// A double-array trie over bytes: a step from a node to its child is one addition and one comparison. Immutable once built.
// J. Aoe, "An efficient digital search algorithm by using a double-array structure", IEEE TSE 15(9), 1989.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::data {

class ByteTrie {
 public:
  static constexpr std::uint32_t kRoot = 0;
  static constexpr std::int32_t kNoValue = -1;

  ByteTrie() : ByteTrie(std::vector<std::pair<std::string, std::int32_t>>()) {}
  // Distinct keys of at least one byte, with values of 0 and more.
  explicit ByteTrie(std::vector<std::pair<std::string, std::int32_t>> keys);

  // Moves `node` to its child under `byte`; false, leaving it, if there is none.
  bool step(std::uint32_t& node, unsigned char byte) const {
    const std::uint32_t child = units_[node].base + byte;
    if (units_[child].parent != node) return false;
    node = child;
    return true;
  }
  std::int32_t value(std::uint32_t node) const { return units_[node].value; }

  struct Match {
    std::size_t bytes = 0;  // 0: no key begins the text
    std::int32_t value = kNoValue;
  };
  Match longest_prefix(std::string_view text) const;

 private:
  static constexpr std::uint32_t kNoParent = UINT32_MAX;
  struct Unit {
    std::uint32_t base = 0;  // children are at base + byte
    std::uint32_t parent = kNoParent;
    std::int32_t value = kNoValue;
  };
  std::uint32_t place(std::uint32_t parent, const std::vector<unsigned char>& labels);

  std::vector<Unit> units_;        // 256 free ones at the end, so that a step needs no bound
  std::uint32_t first_gap_ = 1;    // where the search for places begins
};

}  // namespace convoy::data
