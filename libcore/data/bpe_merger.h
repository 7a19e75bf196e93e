// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding as SentencePiece does it: of all neighbours that together are a piece, those of the highest score are
// merged, of equal scores the leftmost, until there are none.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libcore/data/vocabulary.h"

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

class BpeMerger {
 public:
  explicit BpeMerger(const Vocabulary& vocabulary);

  // Appends the ids of one unit (unit_splitter.h). False if they depend on what else the text holds: an unused piece is taken
  // apart as the text merged it last, which is ambiguous if it has several ways.
  bool encode(std::string_view unit, MergeRoom& room, std::vector<std::int32_t>& ids) const;

 private:
  // Symbols are numbered: pieces by their ids, then characters that only occur within pieces.
  static constexpr std::uint32_t kNoSymbol = UINT32_MAX;  // a character that no piece holds
  static constexpr std::uint32_t kNoRank = UINT32_MAX;
  struct Merge {
    std::uint64_t pair = kNoPair;
    std::uint32_t symbol = 0, rank = kNoRank;
  };
  static constexpr std::uint64_t kNoPair = UINT64_MAX;
  struct Output {
    std::uint32_t first = 0;  // in outputs_ids_
    std::uint32_t count = 0;  // kAmbiguous: see encode()
  };
  static constexpr std::uint32_t kAmbiguous = UINT32_MAX;

  using Texts = std::unordered_map<std::string_view, std::uint32_t>;
  using Splits = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // into two symbols

  Texts number_symbols();
  void add_merges(const Texts& texts);
  void add_outputs(const Texts& texts);
  void add_output_of_unused(std::uint32_t symbol, const Splits& splits);

  std::uint32_t symbol_of(std::uint32_t code) const;
  void load(std::string_view unit, MergeRoom& room) const;
  void rate(MergeRoom::Symbol& left, const MergeRoom::Symbol& right) const;
  void merge_few(MergeRoom& room) const;
  void merge_many(MergeRoom& room) const;
  bool append_outputs(std::string_view unit, const MergeRoom& room, std::vector<std::int32_t>& ids) const;

  const Vocabulary& vocabulary_;
  std::array<std::uint32_t, 128> ascii_symbols_{};
  std::unordered_map<std::uint32_t, std::uint32_t> other_symbols_;  // of characters beyond ASCII
  std::vector<Merge> merges_;  // open addressing
  std::uint64_t merges_mask_ = 0;
  std::vector<Output> outputs_;  // of each symbol
  std::vector<std::int32_t> output_ids_;
};

}  // namespace convoy::data
