// SPDX-License-Identifier: Apache-2.0
// Splits text into the units that byte-level BPE encodes each for itself, by the steps of a tokenizer.json's pre_tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/data/text_pattern.h"
#include "libcore/data/word_scanner.h"

namespace convoy::data {

// One step: what is searched for, and what becomes of what is found and of what lies between.
struct SplitStep {
  enum class Search : std::uint8_t { kRegex, kText, kNumerics };  // kNumerics: single digits
  enum class Behavior : std::uint8_t { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };
  Search search = Search::kRegex;
  std::string pattern;
  Behavior behavior = Behavior::kIsolated;
  bool invert = false;
};

// The last step, ByteLevel.
struct ByteLevelStep {
  bool adds_blank = false;  // before each part that has none
  bool splits = true;       // by GPT-2's pattern
};

class PreTokenizer {
 public:
  using Parts = std::vector<std::string_view>;
  using Matches = std::vector<std::pair<std::size_t, std::size_t>>;
  // `plain`: by regular expressions alone, whatever is known of them. DataError, with a clause, for a bad one.
  PreTokenizer(const std::vector<SplitStep>& steps, const ByteLevelStep& byte_level, const CharacterClasses& classes, bool plain);

  // If the whole is one known pattern, its scanner; then no blanks are put in, and a text comes apart wherever two units meet.
  const WordScanner* scanner() const { return scanner_ ? &*scanner_ : nullptr; }
  static constexpr std::size_t kPadding = 16;
  // Appends the units of `text`, valid UTF-8 with kPadding readable bytes behind it, and so has each unit. Of texts that get a
  // blank, `room` holds what the units refer to.
  void split(std::string_view text, std::string& room, Parts& units) const;

 private:
  struct Step {
    SplitStep what;
    std::optional<TextPattern> regex;
    std::optional<WordScanner> scanner;  // instead
  };
  void find(const Step& step, std::string_view text, Matches& matches) const;
  void apply(const Step& step, std::string_view text, Parts& parts) const;

  const CharacterClasses& classes_;
  std::optional<WordScanner> scanner_;
  std::vector<Step> steps_;  // GPT-2's pattern of ByteLevel not among them
  bool adds_blank_;
  std::optional<Step> last_;
};

}  // namespace convoy::data
