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

WordScanner::BlankRun WordScanner::blank_run(const char* at, const char* end) const {
  BlankRun run{.last = at, .behind_newline = nullptr, .end = at};
  while (run.end < end) {
    const Character character = read(run.end);
    if ((character.classes & kSpace) == 0) break;
    run.last = run.end;
    run.end += character.bytes;
    if (is_newline(*run.last)) run.behind_newline = run.end;
  }
  return run;
}

// \s*[\r\n]+ (if newlines end), else \s+(?!\S), else \s+.
const char* WordScanner::blanks_end(const char* at, const char* end, bool newlines_end) const {
  const BlankRun run = blank_run(at, end);
  if (newlines_end && run.behind_newline != nullptr) return run.behind_newline;
  return run.end == end || run.last == at ? run.end : run.last;
}

const char* WordScanner::end_of_open(OpenMatch open, const char* at, const char* end) const {
  const bool newlines_end = pattern_ != WordPattern::kGpt2;
  switch (open) {
    case OpenMatch::kNone:
      return at;
    case OpenMatch::kLetters:
      return run_end(at, end, kLetter);
    case OpenMatch::kNumbers:
      return run_end(at, end, kNumber);
    case OpenMatch::kOthers:
      at = others_end(at, end);
      [[fallthrough]];
    case OpenMatch::kNewlines:
      while (newlines_end && at < end && is_newline(*at)) ++at;
      return at;
    case OpenMatch::kBlanks:
    case OpenMatch::kNewlinesAndBlanks:
      break;
  }
  const BlankRun run = blank_run(at, end);
  if (newlines_end && run.behind_newline != nullptr) return run.behind_newline;
  if (open == OpenMatch::kNewlinesAndBlanks) return at;
  return run.end == end ? run.end : run.last;
}

// Of a match: a blank that begins another is followed by what is none.
bool WordScanner::is_all_blanks(const char* begin, const char* end) const {
  const Character first = read(begin);
  if ((first.classes & kSpace) == 0) return false;
  return begin + first.bytes == end || is_blank(begin + first.bytes);
}

// A match ends where the character behind it, or for blanks alone the next that is none, says so: both are seen. The last one must end there
// even if it is the end of the text: so do all but blanks before what is no blank, which take an earlier match's end into theirs.
WordScanner::Certain WordScanner::certain(std::string_view text, std::size_t known, OpenMatch open) const {
  constexpr std::size_t kLongestShortMatch = 12;  // three numbers, or a contraction: those that are no runs
  if (known <= kLongestShortMatch) return {};
  const char *const begin = text.data(), *const end = begin + text.size(), *const limit = begin + known;
  const char* no_blank = nullptr;  // the last one
  for (std::string_view left = text.substr(0, known); !left.empty() && no_blank == nullptr;) {
    left.remove_suffix(decode_last_character(left).bytes);
    if (!is_blank(left.data() + left.size())) no_blank = left.data() + left.size();
  }
  Certain certain;
  const char* at = begin;
  if (open != OpenMatch::kNone) {
    const bool is_blanks = open == OpenMatch::kBlanks || open == OpenMatch::kNewlinesAndBlanks;
    at = end_of_open(open, begin, end);
    const bool is_certain = is_blanks ? no_blank != nullptr && at <= no_blank : at <= limit;
    if (!is_certain) return open_match(text.substr(0, known), open, no_blank != nullptr);
    certain.open_ended = at == begin;
    certain.matched = static_cast<std::size_t>(at - begin);
  }
  while (at < limit) {
    const char* const next = pattern_ == WordPattern::kGpt2 ? gpt2_end(at, end) : llama_end(at, end);
    const bool is_blanks = is_all_blanks(at, next);
    if (is_blanks ? no_blank == nullptr || next > no_blank : next > limit) break;
    if (!is_blanks || at == begin || is_blank(next)) certain.matched = static_cast<std::size_t>(next - begin);
    at = next;
  }
  if (at > begin) return certain;
  Certain fresh = open_match(text.substr(0, known), OpenMatch::kNone, no_blank != nullptr);
  fresh.open_ended = certain.open_ended;
  return fresh;
}

// Of a match that goes beyond `known`.
WordScanner::Certain WordScanner::open_match(std::string_view known, OpenMatch open, bool has_text) const {
  using enum OpenMatch;
  if (open == kLetters || open == kNumbers || open == kNewlines) return {.open = open, .open_bytes = known.size()};
  const DecodedCharacter last = decode_last_character(known);
  const std::uint8_t classes = classes_->of(last.code);
  if (open == kOthers || (open == kNone && has_text)) {
    const OpenMatch run = (classes & kLetter) != 0 ? kLetters : (classes & kNumber) != 0 ? kNumbers : is_other(classes) ? kOthers : kNewlines;
    return {.open = run, .open_bytes = known.size()};
  }
  const std::size_t newline = pattern_ == WordPattern::kGpt2 ? std::string_view::npos : known.find_last_of("\r\n");
  if (newline != std::string_view::npos) return {.open = kNewlinesAndBlanks, .open_bytes = newline + 1};
  if (open == kNewlinesAndBlanks) return {};
  return {.open = kBlanks, .open_bytes = known.size() - last.bytes};
}

}  // namespace convoy::data
