// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/added_tokens.h"

#include <utility>

namespace convoy::data {
namespace {

ByteTrie trie_of(const std::vector<AddedToken>& tokens) {
  std::vector<std::pair<std::string, std::int32_t>> keys;
  for (std::size_t i = 0; i < tokens.size(); ++i) keys.emplace_back(tokens[i].content, static_cast<std::int32_t>(i));
  return ByteTrie(std::move(keys));
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const CharacterClasses& classes)
    : tokens_(std::move(tokens)), classes_(classes), trie_(trie_of(tokens_)) {
  for (const AddedToken& token : tokens_) {
    begins_[static_cast<unsigned char>(token.content[0])] = true;
    longest_ = std::max(longest_, token.content.size());
    take_blanks_before_ |= token.lstrip;
  }
}

bool AddedTokens::within_word(std::string_view text, std::size_t begin, std::size_t end) const {
  if (begin > 0 && (classes_.of(decode_last_character(text.substr(0, begin)).code) & kWord)) return true;
  return end < text.size() && (classes_.of(decode_valid_character(text.data() + end).code) & kWord);
}

std::size_t AddedTokens::blanks_before(std::string_view text, std::size_t at, std::size_t done) const {
  while (at > done) {
    const DecodedCharacter character = decode_last_character(text.substr(0, at));
    if ((classes_.of(character.code) & kSpace) == 0) break;
    at -= character.bytes;
  }
  return at;
}

std::size_t AddedTokens::blanks_behind(std::string_view text, std::size_t at) const {
  while (at < text.size()) {
    const DecodedCharacter character = decode_valid_character(text.data() + at);
    if ((classes_.of(character.code) & kSpace) == 0) break;
    at += character.bytes;
  }
  return at;
}

std::size_t AddedTokens::first_beginning(std::string_view text) const {
  std::size_t at = first_at(text, 0);
  while (at < text.size() && trie_.longest_prefix(text.substr(at)).bytes == 0) at = first_at(text, at + 1);
  return at;
}

// No token begins before `at` and reaches it, so no match, whatever came before, spans it, touches it from the left or takes
// blanks across it; none begins there, whose left neighbour would matter.
bool AddedTokens::may_cut(std::string_view text, std::size_t at) const {
  const std::size_t begin = at > longest_ ? at - longest_ : 0;
  for (std::size_t from = first_at(text, begin); from <= at && from < text.size(); from = first_at(text, from + 1)) {
    const ByteTrie::Match match = trie_.longest_prefix(text.substr(from));
    if (match.bytes > 0 && from + match.bytes >= at) return false;
  }
  return true;
}

}  // namespace convoy::data
