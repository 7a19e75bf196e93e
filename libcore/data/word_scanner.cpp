// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/word_scanner.h"

#include <utility>

namespace convoy::data {

const std::string_view kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::optional<WordPattern> known_pattern(std::string_view regex) {
  static constexpr std::pair<std::string_view, WordPattern> kSpellings[] = {
      {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", WordPattern::kGpt2},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)", WordPattern::kLlama3},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)", WordPattern::kQwen2},
      {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)", WordPattern::kLlama3},
  };
  if (regex == kGpt2Pattern) return WordPattern::kGpt2;
  for (const auto& [text, pattern] : kSpellings) {
    if (regex == text) return pattern;
  }
  return std::nullopt;
}

WordScanner::WordScanner(WordPattern pattern, const CharacterClasses& classes) : pattern_(pattern), classes_(&classes) {
  for (std::uint32_t code = 0; code < ascii_.size(); ++code) ascii_[code] = classes.of(code);
}

// U+017F, the long s, is an s whatever the case.
const char* WordScanner::contraction_end(const char* at, const char* end) const {
  const auto left = end - at;
  if (left < 2) return nullptr;
  const bool any_case = pattern_ != WordPattern::kGpt2;
  const auto lower = [any_case](char c) { return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const char first = lower(at[1]);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if (left < 3) return nullptr;
  const char second = lower(at[2]);
  if (second == 'e' && (first == 'r' || first == 'v')) return at + 3;
  if (second == 'l' && first == 'l') return at + 3;
  if (any_case && std::string_view(at + 1, 2) == "\xc5\xbf") return at + 3;
  return nullptr;
}

// \s*[\r\n]+ (if newlines end), else \s+(?!\S), else \s+.
const char* WordScanner::blanks_end(const char* at, const char* end, bool newlines_end) const {
  const char* last = at;               // the run's last character
  const char* after_newline = nullptr;  // behind its last newline
  const char* next = at;
  while (next < end) {
    const Character character = read(next);
    if ((character.classes & kSpace) == 0) break;
    last = next;
    next += character.bytes;
    if (is_newline(*last)) after_newline = next;
  }
  if (newlines_end && after_newline != nullptr) return after_newline;
  return next == end || last == at ? next : last;
}

}  // namespace convoy::data
