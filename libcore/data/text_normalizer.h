// SPDX-License-Identifier: Apache-2.0
// What a SentencePiece normaliser makes of a text, in compact form (vocabulary.h) and part by part, so that memory does not grow
// with the text. Bytes that are no UTF-8 become U+FFFD, each for itself.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "libcore/data/byte_trie.h"
#include "libcore/data/character_rules.h"
#include "libcore/data/model_proto.h"
#include "libcore/data/vocabulary.h"

namespace convoy::data {

// A text, and how far it is normalised. A text that comes in parts has one cursor: whoever has more of it lets `text` begin
// where the cursor was, and `at` be 0.
struct NormalizerCursor {
  std::string_view text;
  std::size_t at = 0;
  bool goes_on = false;         // more text may follow
  std::size_t held_blanks = 0;  // not written yet: at the end of the text they would go
  std::size_t due_blanks = 0;   // not written yet, because they were too many at once
  bool after_blank = false;     // blanks that follow go
  bool begun = false, ended = false;
};

class TextNormalizer {
 public:
  TextNormalizer(const ModelProto& model, const Vocabulary& vocabulary);

  // Appends what follows, of some `bytes` of text more (at least one), whole characters. Sets cursor.ended behind the last of a
  // text that does not go on; of one that does, the last few bytes stay, which more text may change. True if there is more to do.
  bool normalize(NormalizerCursor& cursor, std::size_t bytes, std::string& out) const;
  // So many bytes at the end of a text that goes on stay, at most.
  std::size_t most_kept_back() const { return lookahead_ - 1; }

 private:
  struct Prefix {
    std::string_view replacement;
    std::size_t bytes = 0;
  };
  Prefix prefix(std::string_view text) const;
  std::size_t certain_end(const NormalizerCursor& cursor) const;
  void begin(NormalizerCursor& cursor, std::string& out) const;
  void end(NormalizerCursor& cursor, std::string& out) const;
  std::size_t plain_run(std::string_view text) const;
  bool append(std::string_view replacement, NormalizerCursor& cursor, std::size_t most_blanks, std::string& out) const;
  void append_compact(std::string_view text, std::string& out) const;

  bool marks_blanks_, dummy_blank_first_, dummy_blank_last_, removes_blanks_;
  ByteTrie symbols_;
  CharacterRules rules_;
  std::array<bool, 256> begins_symbol_{};
  std::array<bool, 256> plain_{};  // this byte stays as it is wherever no byte beyond ASCII follows it
  bool ascii_is_plain_ = true;
  std::size_t lookahead_ = 4;  // bytes of the longest character, symbol or rule
};

}  // namespace convoy::data
