// SPDX-License-Identifier: Apache-2.0
// Splits normalised text into units that are encoded each for itself, with the ids that they have within the whole text.
//
// The proof. Call the characters x and y joined if a piece holds them side by side. Between two that are not, no piece ever
// spans the boundary. In BPE, merges on its left and on its right then do not see each other, and the order of merges, by score
// and then by position, restricted to either side is the order of that side alone. User-defined symbols are matched before any
// merge, left to right, each the longest there, and never merge; so each is a boundary itself. (A merge never makes one: its
// first character begins a place where the symbol would have been matched.) In unigram, every path passes the boundary, so
// the best path to it is part of the best path of the text; only the score so far goes on.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "libcore/base/utf8.h"
#include "libcore/data/byte_trie.h"
#include "libcore/data/vocabulary.h"

namespace convoy::data {

class UnitSplitter {
 public:
  explicit UnitSplitter(const Vocabulary& vocabulary);

  // Calls on_unit(begin, end) and on_symbol(id) for the units and symbols of `text`, valid UTF-8. If the text goes on (`is_last`
  // false), stops before what could end or begin otherwise then. Returns the bytes done.
  template <class OnUnit, class OnSymbol>
  std::size_t split(std::string_view text, bool is_last, OnUnit on_unit, OnSymbol on_symbol) const {
    const char* const end = text.data() + text.size();
    const char* at = text.data();
    while (at < end) {
      const std::size_t left = static_cast<std::size_t>(end - at);
      if (!is_last && left < lookahead_) break;
      if (begins_symbol_[static_cast<unsigned char>(*at)]) {
        if (const ByteTrie::Match match = symbols_.longest_prefix({at, left}); match.bytes > 0) {
          on_symbol(match.value);
          at += match.bytes;
          continue;
        }
      }
      const char* const unit_end = end_of_unit(at, end, is_last);
      if (unit_end == nullptr) break;
      on_unit(at, unit_end);
      at = unit_end;
    }
    return static_cast<std::size_t>(at - text.data());
  }

  // The bytes of the unit that `text` begins with, which does not begin with a symbol; 0: it goes on.
  std::size_t first_unit(std::string_view text, bool is_last) const {
    const char* const end = end_of_unit(text.data(), text.data() + text.size(), is_last);
    return end == nullptr ? 0 : static_cast<std::size_t>(end - text.data());
  }
  // So many bytes at the end of a text that goes on are looked at again with more of it, at most. All before them that split() leaves
  // is one unit's.
  std::size_t lookahead() const { return lookahead_; }

  // Whether a piece holds `left` and `right` side by side.
  bool joined(std::uint32_t left, std::uint32_t right) const;

 private:
  enum Boundary : std::uint8_t { kNone, kCut, kPerhapsSymbol };

  const char* end_of_unit(const char* begin, const char* end, bool is_last) const;
  bool symbol_at(const char* at, const char* end) const;

  std::array<Boundary, 128 * 128> ascii_{};   // between two ASCII characters
  std::vector<std::uint64_t> pairs_;          // open addressing; joined characters of which one is not ASCII
  std::uint64_t pairs_mask_ = 0;
  ByteTrie symbols_;
  std::array<bool, 256> begins_symbol_{};
  std::size_t lookahead_ = 4;  // the longest symbol
};

inline const char* UnitSplitter::end_of_unit(const char* begin, const char* end, bool is_last) const {
  DecodedCharacter left = decode_valid_character(begin);
  const char* at = begin + left.bytes;
  while (at < end) {
    const auto byte = static_cast<unsigned char>(*at);
    DecodedCharacter right{byte, 1};
    Boundary boundary = kNone;
    if ((left.code | byte) < 0x80) [[likely]] {
      boundary = ascii_[left.code * 128 + byte];
    } else {
      right = decode_valid_character(at);
      boundary = !joined(left.code, right.code) ? kCut : begins_symbol_[byte] ? kPerhapsSymbol : kNone;
    }
    if (boundary == kCut) return at;
    if (boundary == kPerhapsSymbol) {
      if (!is_last && static_cast<std::size_t>(end - at) < lookahead_) return nullptr;
      if (symbol_at(at, end)) return at;
    }
    left = right;
    at += right.bytes;
  }
  return is_last ? end : nullptr;
}

}  // namespace convoy::data
