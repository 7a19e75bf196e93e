// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding as SentencePiece does it: of all neighbours that together are a piece, those of the highest score are
// merged, of equal scores the leftmost, until there are none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libcore/data/byte_trie.h"
#include "libcore/data/merge_table.h"
#include "libcore/data/vocabulary.h"

namespace convoy::data {

class BpeMerger {
 public:
  explicit BpeMerger(const Vocabulary& vocabulary);

  // Appends the ids of one unit (unit_splitter.h). False if they depend on what else the text holds: an unused piece is taken
  // apart as the text merged it last, which is ambiguous if it has several ways.
  bool encode(std::string_view unit, MergeRoom& room, std::vector<std::int32_t>& ids) const;
  // Of the beginning of a unit, `known` bytes, whole characters, of which `text` has longest_piece() more at least: appends the ids
  // that are certain, and returns the bytes that they are, 0 perhaps; the rest is a unit of its own. nullopt: as false above.
  std::optional<std::size_t> encode_beginning(std::string_view text, std::size_t known, MergeRoom& room, std::vector<std::int32_t>& ids) const;
  std::size_t longest_piece() const { return longest_piece_; }  // in bytes

 private:
  // Symbols are numbered: pieces by their ids, then characters that only occur within pieces.
  struct Output {
    std::uint32_t first = 0;  // in outputs_ids_
    std::uint32_t count = 0;  // kAmbiguous: see encode()
  };
  static constexpr std::uint32_t kAmbiguous = UINT32_MAX;

  using Texts = std::unordered_map<std::string_view, std::uint32_t>;
  using Splits = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // into two symbols

  Texts number_symbols();
  std::vector<MergeTable::Merge> merges_of(const Texts& texts) const;
  void add_outputs(const Texts& texts);
  void add_output_of_unused(std::uint32_t symbol, const Splits& splits);

  std::uint32_t symbol_of(std::uint32_t code) const;
  void load(std::string_view unit, MergeRoom& room) const;
  bool append_outputs(std::string_view unit, const MergeRoom& room, std::vector<std::int32_t>& ids) const;

  const Vocabulary& vocabulary_;
  std::array<std::uint32_t, 128> ascii_symbols_{};
  std::unordered_map<std::uint32_t, std::uint32_t> other_symbols_;  // of characters beyond ASCII
  std::optional<MergeTable> table_;
  ByteTrie symbols_;
  std::size_t longest_piece_ = 0;
  std::vector<Output> outputs_;  // of each symbol
  std::vector<std::int32_t> output_ids_;
};

}  // namespace convoy::data
