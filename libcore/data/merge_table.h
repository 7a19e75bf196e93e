// SPDX-License-Identifier: Apache-2.0
// The merging of byte-pair encoding, whatever the vocabulary: of all neighbours that have a merge, those of the lowest rank are
// merged, of equal ranks the leftmost, until there are none. A symbol is a number; what it stands for is the caller's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

 private:
  static constexpr std::uint32_t kNoRank = UINT32_MAX;
  static constexpr std::uint64_t kNoPair = UINT64_MAX;
  struct Slot {
    std::uint64_t pair = kNoPair;
    std::uint32_t symbol = 0, rank = kNoRank;
  };

  void rate(MergeRoom::Symbol& left, const MergeRoom::Symbol& right) const;
  void merge_few(MergeRoom& room) const;
  void merge_many(MergeRoom& room) const;

  std::vector<Slot> slots_;  // open addressing
  std::uint64_t mask_ = 0;
};

}  // namespace convoy::data
