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

// A text, and how far it is normalised.
struct NormalizerCursor {
  std::string_view text;
  std::size_t at = 0;
  std::size_t held_blanks = 0;  // not written yet: at the end of the text they would go
  bool after_blank = false;     // blanks that follow go
  bool begun = false, ended = false;
};

class TextNormalizer {
 public:
  TextNormalizer(const ModelProto& model, const Vocabulary& vocabulary);

  // Appends what follows, of some `bytes` of text more, whole characters. Sets cursor.ended behind the last of it.
  void normalize(NormalizerCursor& cursor, std::size_t bytes, std::string& out) const;

 private:
  struct Prefix {
    std::string_view replacement;
    std::size_t bytes = 0;
  };
  Prefix prefix(std::string_view text) const;
  void begin(NormalizerCursor& cursor, std::string& out) const;
  void end(NormalizerCursor& cursor, std::string& out) const;
  std::size_t plain_run(std::string_view text) const;
  void append(std::string_view replacement, NormalizerCursor& cursor, std::string& out) const;
  void append_compact(std::string_view text, std::string& out) const;

  bool marks_blanks_, dummy_blank_first_, dummy_blank_last_, removes_blanks_;
  ByteTrie symbols_;
  CharacterRules rules_;
  std::array<bool, 256> begins_symbol_{};
  std::array<bool, 256> plain_{};  // this byte stays as it is wherever no byte beyond ASCII follows it
  bool ascii_is_plain_ = true;
};

}  // namespace convoy::data
