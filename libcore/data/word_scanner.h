// SPDX-License-Identifier: Apache-2.0
// The patterns that byte-level BPE tokenizers split text by, scanned by hand: what a regular expression finds, much faster.
//   GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   Llama 3: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//   Qwen 2: the same with \p{N}.
// Each matches at any place of any text, so a text is its matches one after another, and a match depends only on what follows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "libcore/base/utf8.h"
#include "libcore/data/unicode_classes.h"

namespace convoy::data {

enum class WordPattern : std::uint8_t { kGpt2, kLlama3, kQwen2 };

// A match of which only the beginning is known, by what it goes on with: kNewlines are those behind others. kBlanks and
// kNewlinesAndBlanks, of which the latter holds a newline already, end before the last blank or behind the last newline.
enum class OpenMatch : std::uint8_t { kNone, kLetters, kNumbers, kOthers, kNewlines, kBlanks, kNewlinesAndBlanks };

extern const std::string_view kGpt2Pattern;
// The pattern that `regex`, as it is written in a tokenizer.json, means, or none.
std::optional<WordPattern> known_pattern(std::string_view regex);

class WordScanner {
 public:
  WordScanner(WordPattern pattern, const CharacterClasses& classes);

  // Calls on_unit(begin, end) for each match in `text`, valid UTF-8.
  template <class OnUnit>
  void split(std::string_view text, OnUnit on_unit) const {
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
      const char* const next = pattern_ == WordPattern::kGpt2 ? gpt2_end(at, end) : llama_end(at, end);
      on_unit(at, next);
      at = next;
    }
  }
  // Where the match that has begun before `at` ends; it may be there.
  const char* end_of_open(OpenMatch open, const char* at, const char* end) const;

  // The same match if less of it is left behind than is certain, up to a byte `last`.
  static OpenMatch open_behind(OpenMatch open, char last) { return open == OpenMatch::kNewlines && !is_newline(last) ? OpenMatch::kOthers : open; }

  // What is certain of the matches of a text of which only the beginning is known.
  struct Certain {
    std::size_t matched = 0;             // bytes that are whole matches, as they are also if nothing follows
    OpenMatch open = OpenMatch::kNone;   // else, with matched == 0: what goes on behind so many bytes
    std::size_t open_bytes = 0;          // that the match at the beginning has for certain; 0: nothing is
    bool open_ended = false;             // the match that was open has nothing more
  };
  // More text follows after `text`, valid UTF-8, of which the first `known` bytes count, whole characters; at least kLookAhead are
  // behind them. `open`: what the text goes on with.
  static constexpr std::size_t kLookAhead = 8;
  Certain certain(std::string_view text, std::size_t known, OpenMatch open) const;

 private:
  struct Character {
    std::uint8_t classes = 0;
    std::uint8_t bytes = 1;
  };
  Character read(const char* at) const {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < 0x80) return {ascii_[byte], 1};
    const DecodedCharacter character = decode_valid_character(at);
    return {classes_->of(character.code), static_cast<std::uint8_t>(character.bytes)};
  }
  static bool is_other(std::uint8_t classes) { return (classes & (kLetter | kNumber | kSpace)) == 0; }
  static bool is_newline(char c) { return c == '\n' || c == '\r'; }

  const char* gpt2_end(const char* at, const char* end) const;
  const char* llama_end(const char* at, const char* end) const;
  const char* run_end(const char* at, const char* end, std::uint8_t wanted) const;
  const char* others_end(const char* at, const char* end) const;
  struct BlankRun {
    const char* last = nullptr;           // its last character
    const char* behind_newline = nullptr; // behind its last newline
    const char* end = nullptr;
  };
  BlankRun blank_run(const char* at, const char* end) const;
  const char* blanks_end(const char* at, const char* end, bool newlines_end) const;
  bool is_blank(const char* at) const { return (read(at).classes & kSpace) != 0; }
  bool is_all_blanks(const char* begin, const char* end) const;
  Certain open_match(std::string_view known, OpenMatch open, bool has_text) const;
  // Of 's 't 're 've 'm 'll 'd, or nullptr.
  const char* contraction_end(const char* at, const char* end) const;

  WordPattern pattern_;
  const CharacterClasses* classes_;
  std::array<std::uint8_t, 128> ascii_{};
};

inline const char* WordScanner::run_end(const char* at, const char* end, std::uint8_t wanted) const {
  while (at < end) {
    const Character character = read(at);
    if ((character.classes & wanted) == 0) break;
    at += character.bytes;
  }
  return at;
}

inline const char* WordScanner::others_end(const char* at, const char* end) const {
  while (at < end) {
    const Character character = read(at);
    if (!is_other(character.classes)) break;
    at += character.bytes;
  }
  return at;
}

inline const char* WordScanner::gpt2_end(const char* at, const char* end) const {
  if (*at == '\'') {
    if (const char* const contraction = contraction_end(at, end)) return contraction;
  }
  const char* const from = at + (*at == ' ' && at + 1 < end ? 1 : 0);
  const Character first = read(from);
  if (first.classes & kLetter) return run_end(from + first.bytes, end, kLetter);
  if (first.classes & kNumber) return run_end(from + first.bytes, end, kNumber);
  if (is_other(first.classes)) return others_end(from + first.bytes, end);
  return blanks_end(at, end, false);
}

inline const char* WordScanner::llama_end(const char* at, const char* end) const {
  if (*at == '\'') {
    if (const char* const contraction = contraction_end(at, end)) return contraction;
  }
  const Character first = read(at);
  const char* next = at + first.bytes;
  if (first.classes & kLetter) return run_end(next, end, kLetter);
  if (first.classes & kNumber) {
    for (int more = pattern_ == WordPattern::kLlama3 ? 2 : 0; more > 0 && next < end; --more) {
      const Character number = read(next);
      if ((number.classes & kNumber) == 0) break;
      next += number.bytes;
    }
    return next;
  }
  const Character second = next < end ? read(next) : Character{kSpace, 0};
  if ((second.classes & kLetter) && !is_newline(*at)) return run_end(next + second.bytes, end, kLetter);
  if (is_other(first.classes) || (*at == ' ' && is_other(second.classes))) {
    next = others_end(next, end);
    while (next < end && is_newline(*next)) ++next;
    return next;
  }
  return blanks_end(at, end, true);
}

}  // namespace convoy::data
