// SPDX-License-Identifier: Apache-2.0
// The merging of byte-pair encoding, whatever the vocabulary: of all neighbours that have a merge, those of the lowest rank are
// merged, of equal ranks the leftmost, until there are none. A symbol is a number; what it stands for is the caller's.
//
// The beginning of a unit can be merged without the rest. Call the place up to which all is known the frontier: at first the end of
// what is there, and b the symbol before it. Behind it stands some symbol x, of which only the text is known to which it belongs, and
// what it was when it was given up (`least`): symbols grow, so x is one of the symbols that begin the text there and are as long as
// `least`. Let p be the lowest rank of a merge of b with one of those. As soon as no known merge comes before rank p at b's place,
// b is given up itself, and the frontier moves before it.
//
// The proof. In the merging of the whole unit, the merges on the left of the frontier are, one after another, the first ones of the
// left side alone, as long as none joins both sides, because a merge changes only its own side's neighbours. One that joins them
// takes b and some x, so its rank is p at least, and when it is its turn no known merge comes before it: by then b was given up. So
// no merge ever joins both sides of the last frontier. The symbols on its left are those of the whole unit, and the rest can be
// merged for itself.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "libcore/data/byte_trie.h"

namespace convoy::data {

// One thread's room for merges: the symbols of a unit, each with its merge with the next one.
struct MergeRoom {
  struct Symbol {
    std::uint32_t number = 0;
    std::uint32_t merged = 0, rank = 0;  // what both become, and when
    std::uint32_t begin = 0;             // in the unit
    std::uint32_t before = 0, after = 0;
  };
  std::vector<Symbol> symbols;
  std::vector<std::uint64_t> queue;
};

class MergeTable {
 public:
  static constexpr std::uint32_t kNoSymbol = UINT32_MAX;  // has no merges
  struct Merge {
    std::uint32_t left = 0, right = 0;
    std::uint32_t symbol = 0;  // what both become
    std::uint32_t rank = 0;
  };
  // A pair of symbols occurs once at most; ranks are below UINT32_MAX.
  explicit MergeTable(std::span<const Merge> merges);

  // To fill a room: removes what it holds; then the symbols of a unit one after another.
  static void clear(MergeRoom& room);
  static void append(std::uint32_t symbol, std::uint32_t begin, MergeRoom& room);
  // Leaves the symbols that the unit's end up as; `number` and `begin` are all that is meant then.
  void merge(MergeRoom& room) const;
  // The same if the room holds the beginning of a unit alone, its first `known` bytes. Leaves the symbols that are certain, and
  // returns the bytes that they are: 0 perhaps. `text` is more of the unit, best longer than `known` by the longest symbol; `symbols`
  // are the texts of all of them.
  std::size_t merge_beginning(std::string_view text, std::size_t known, const ByteTrie& symbols, MergeRoom& room) const;

 private:
  struct Frontier;
  static constexpr std::uint32_t kNoRank = UINT32_MAX;
  static constexpr std::uint64_t kNoPair = UINT64_MAX;
  struct Slot {
    std::uint64_t pair = kNoPair;
    std::uint32_t symbol = 0, rank = kNoRank;
  };

  const Slot* find(std::uint32_t left, std::uint32_t right) const;
  void rate(MergeRoom::Symbol& left, const MergeRoom::Symbol& right) const;
  void merge_few(MergeRoom& room) const;
  void merge_many(Frontier& frontier, MergeRoom& room) const;
  static void give_up_last(Frontier& frontier, MergeRoom& room);
  void look_ahead(Frontier& frontier, std::uint32_t before, const MergeRoom& room) const;

  std::vector<Slot> slots_;  // open addressing
  std::uint64_t mask_ = 0;
};

}  // namespace convoy::data
