// SPDX-License-Identifier: Apache-2.0
// The tokens beside a model's vocabulary that a tokenizer.json lists: they are met in text before anything else, the leftmost
// first, of several there the longest, as tokenizers' AddedVocabulary does it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/utf8.h"
#include "libcore/data/byte_trie.h"
#include "libcore/data/unicode_classes.h"

namespace convoy::data {

struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool special = false;
  bool single_word = false;  // not within a word
  bool lstrip = false, rstrip = false;  // takes the blanks before, behind
  bool normalized = false;  // met in normalised text
  bool is_text = false;     // where it is met it stays text
};

class AddedTokens {
 public:
  // Distinct contents, none empty.
  AddedTokens(std::vector<AddedToken> tokens, const CharacterClasses& classes);

  // Calls on_text(part) and on_token(token) from left to right; parts are not empty.
  template <class OnText, class OnToken>
  void split(std::string_view text, OnText on_text, OnToken on_token) const {
    std::size_t done = 0;
    for (std::size_t at = first_at(text, 0); at < text.size(); at = first_at(text, at)) {
      const ByteTrie::Match match = trie_.longest_prefix(text.substr(at));
      if (match.bytes == 0) {
        ++at;
        continue;
      }
      const AddedToken& token = tokens_[static_cast<std::size_t>(match.value)];
      std::size_t begin = at, end = at + match.bytes;
      at = end;
      if (token.is_text) continue;
      if (token.single_word && within_word(text, begin, end)) continue;
      if (token.lstrip) begin = blanks_before(text, begin, done);
      if (token.rstrip) end = blanks_behind(text, end);
      if (done < begin) on_text(text.substr(done, begin - done));
      on_token(token);
      done = end;
    }
    if (done < text.size()) on_text(text.substr(done));
  }

  // Whether tokens are met on either side of `at` as they are in the whole, if the texts there are split each for itself; the
  // character before is a letter, and margin() bytes, or the end of the text, are behind.
  bool may_cut(std::string_view text, std::size_t at) const;
  std::size_t margin() const { return longest_; }
  // The first place where what a token is begins, be it met or not; else the text's end. Ones that its end cuts off are not seen.
  std::size_t first_beginning(std::string_view text) const;
  bool take_blanks_before() const { return take_blanks_before_; }  // one of them
  bool empty() const { return tokens_.empty(); }

 private:
  std::size_t first_at(std::string_view text, std::size_t from) const {
    if (tokens_.empty()) return text.size();
    while (from < text.size() && !begins_[static_cast<unsigned char>(text[from])]) ++from;
    return from;
  }
  bool within_word(std::string_view text, std::size_t begin, std::size_t end) const;
  std::size_t blanks_before(std::string_view text, std::size_t at, std::size_t done) const;
  std::size_t blanks_behind(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  const CharacterClasses& classes_;
  ByteTrie trie_;
  std::array<bool, 256> begins_{};
  std::size_t longest_ = 0;
  bool take_blanks_before_ = false;
};

}  // namespace convoy::data
