// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/word_scanner.h"

#include <gmock/gmock.h>

#include <random>

#include "libcore/data/text_pattern.h"

namespace convoy::data {
namespace {

using testing::ElementsAre;
using Matches = std::vector<std::pair<std::size_t, std::size_t>>;

constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kCl100k =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";

std::vector<std::string> all_patterns() { return {std::string(kGpt2Pattern), kLlama3, kQwen2, kCl100k}; }

Matches scanned(const std::string& regex, const CharacterClasses& classes, std::string_view text) {
  const auto known = known_pattern(regex);
  EXPECT_TRUE(known.has_value()) << regex;
  if (!known) return {};
  Matches matches;
  WordScanner(*known, classes).split(text, [&](const char* begin, const char* end) { matches.emplace_back(begin - text.data(), end - text.data()); });
  return matches;
}

std::vector<std::string> words(const std::string& regex, std::string_view text) {
  const CharacterClasses classes;
  std::vector<std::string> words;
  for (const auto& [begin, end] : scanned(regex, classes, text)) words.emplace_back(text.substr(begin, end - begin));
  return words;
}

// Expected words by hand from the patterns.
TEST(WordScanner, SplitsAsGpt2) {
  const std::string gpt2(kGpt2Pattern);
  EXPECT_THAT(words(gpt2, "I'll go, they've 12ab!\n"), ElementsAre("I", "'ll", " go", ",", " they", "'ve", " 12", "ab", "!", "\n"));
  EXPECT_THAT(words(gpt2, "a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(words(gpt2, "a  "), ElementsAre("a", "  "));
  EXPECT_THAT(words(gpt2, "I'LL"), ElementsAre("I", "'", "LL"));
}

TEST(WordScanner, SplitsAsLlama3) {
  EXPECT_THAT(words(kLlama3, "I'LL (go) 12345\tx !\r\n\r\n  y"), ElementsAre("I", "'LL", " (", "go", ")", " ", "123", "45", "\tx", " !\r\n\r\n", " ", " y"));
  EXPECT_THAT(words(kLlama3, " \n \n  z"), ElementsAre(" \n \n", " ", " z"));
  EXPECT_THAT(words(kLlama3, "'\xc5\xbf" "x"), ElementsAre("'\xc5\xbf", "x")) << "the long s";
}

TEST(WordScanner, SplitsAsQwen2) { EXPECT_THAT(words(kQwen2, "a 123"), ElementsAre("a", " ", "1", "2", "3")); }

TEST(WordScanner, KnowsNoOtherPattern) {
  EXPECT_EQ(known_pattern(R"(\s+)"), std::nullopt);
  EXPECT_EQ(known_pattern(std::string(kLlama3) + "|x"), std::nullopt);
}

void expect_like_regex(const std::string& text, const std::vector<TextPattern>& patterns, const CharacterClasses& classes) {
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    Matches expected;
    patterns[i].find(text, expected);
    ASSERT_EQ(scanned(all_patterns()[i], classes, text), expected) << "pattern " << i << " of " << testing::PrintToString(text.substr(0, 200));
  }
}

std::vector<TextPattern> compiled() {
  std::vector<TextPattern> patterns;
  for (const std::string& regex : all_patterns()) patterns.emplace_back(regex);
  return patterns;
}

TEST(WordScanner, EachCharacterOfUnicodeInEachPlaceIsAsTheRegularExpressionHasIt) {
  const CharacterClasses classes;
  const auto patterns = compiled();
  constexpr std::uint32_t kAtOnce = 2048;
  for (std::uint32_t first = 0; first < 0x110000; first += kAtOnce) {
    std::string text;
    for (std::uint32_t code = first; code < first + kAtOnce; ++code) {
      if (code >= 0xd800 && code < 0xe000) continue;
      std::string c;
      append_character(code, c);
      text += "a" + c + "b " + c + "  " + c + c + "'" + c + "'s1" + c + "2\n" + c + "\n " + c + "!" + c + " ";
    }
    if (!text.empty()) expect_like_regex(text, patterns, classes);
  }
}

TEST(WordScanner, RandomTextsAreAsTheRegularExpressionHasThem) {
  const CharacterClasses classes;
  const auto patterns = compiled();
  const std::vector<std::string> atoms = {" ",  "  ", "\n", "\r", "\t", "\xc2\xa0", "\xe3\x80\x80", "'",  "s",  "S",        "t",        "l", "L",
                                          "re", "vE", "d",  "m",  "\xc5\xbf", "1", "\xc2\xbd", "12", ".", "\xe4\xb8\xad", "\xcc\x81", "\xf0\x9f\x9a\xa2"};
  std::mt19937_64 random(3);
  for (int i = 0; i < 50000; ++i) {
    std::string text;
    for (std::uint64_t count = 1 + random() % 12; count > 0; --count) text += atoms[random() % atoms.size()];
    expect_like_regex(text, patterns, classes);
  }
}

// What is left of `whole` from `at` on, its first match the rest of `open`, as the matches of the whole have it: their ends.
void expect_certain(const WordScanner& scanner, const std::string& whole, const std::vector<std::size_t>& ends, std::mt19937_64& random) {
  const auto is_end = [&ends](std::size_t at) { return std::find(ends.begin(), ends.end(), at) != ends.end(); };
  OpenMatch open = OpenMatch::kNone;
  for (std::size_t at = 0; at < whole.size();) {
    const std::string_view text = std::string_view(whole).substr(at);
    const char* const end = text.data() + text.size();
    if (open != OpenMatch::kNone) {
      const std::size_t rest = static_cast<std::size_t>(scanner.end_of_open(open, text.data(), end) - text.data());
      ASSERT_EQ(at + rest, *std::lower_bound(ends.begin(), ends.end(), at)) << "the open match's end";
    }
    std::size_t seen = std::min<std::size_t>(text.size(), 13 + WordScanner::kLookAhead + random() % 60);
    while (seen < text.size() && (static_cast<unsigned char>(text[seen]) & 0xc0) == 0x80) ++seen;
    std::size_t known = seen - std::min<std::size_t>(seen, WordScanner::kLookAhead + random() % 8);
    while (known > 0 && (static_cast<unsigned char>(text[known]) & 0xc0) == 0x80) --known;
    const auto certain = scanner.certain(text.substr(0, seen), known, open);
    if (certain.open_ended) {
      ASSERT_TRUE(is_end(at));
      open = OpenMatch::kNone;
    }
    if (certain.matched > 0) {
      ASSERT_TRUE(is_end(at + certain.matched)) << "whole matches";
      std::vector<std::size_t> alone;
      const char* const begin = text.data() + (scanner.end_of_open(open, text.data(), text.data() + certain.matched) - text.data());
      if (begin > text.data()) alone.push_back(at + static_cast<std::size_t>(begin - text.data()));
      scanner.split(std::string_view(begin, text.data() + certain.matched), [&](const char*, const char* next) { alone.push_back(static_cast<std::size_t>(next - whole.data())); });
      for (const std::size_t match : alone) ASSERT_TRUE(is_end(match)) << "the same if nothing follows";
      ASSERT_EQ(std::upper_bound(ends.begin(), ends.end(), at + certain.matched) - std::upper_bound(ends.begin(), ends.end(), at), static_cast<std::ptrdiff_t>(alone.size()));
      at += certain.matched;
      open = OpenMatch::kNone;
    } else if (certain.open_bytes > 0) {
      ASSERT_LE(at + certain.open_bytes, *std::upper_bound(ends.begin(), ends.end(), at)) << "the open match has them all";
      const std::size_t before = at;
      at += random() % 2 == 0 ? certain.open_bytes : 1 + random() % certain.open_bytes;
      while ((static_cast<unsigned char>(whole[at]) & 0xc0) == 0x80) --at;
      if (at == before) break;
      open = WordScanner::open_behind(certain.open, whole[at - 1]);
    } else {
      break;
    }
  }
}

TEST(WordScanner, WhatIsCertainOfTheBeginningIsSoInTheWhole) {
  const CharacterClasses classes;
  const std::vector<std::string> atoms = {" ", "\n", "\t", "\xe3\x80\x80", "'", "s", "a", "ll", "1", "12", ".", "=", "\xe4\xb8\xad", "\xcc\x81", "\xc5\xbf", " \n", ". ", "a ", "=\n"};
  std::mt19937_64 random(4);
  for (int i = 0; i < 100000; ++i) {
    std::string text;
    for (std::uint64_t runs = 1 + random() % 5; runs > 0; --runs) {
      const std::string& atom = atoms[random() % atoms.size()];
      for (std::uint64_t count = random() % (random() % 3 == 0 ? 100 : 4); count > 0; --count) text += random() % 30 == 0 ? atoms[random() % atoms.size()] : atom;
    }
    for (const WordPattern pattern : {WordPattern::kGpt2, WordPattern::kLlama3, WordPattern::kQwen2}) {
      const WordScanner scanner(pattern, classes);
      std::vector<std::size_t> ends;
      scanner.split(text, [&](const char*, const char* end) { ends.push_back(static_cast<std::size_t>(end - text.data())); });
      expect_certain(scanner, text, ends, random);
      ASSERT_FALSE(testing::Test::HasFailure()) << "pattern " << static_cast<int>(pattern) << " of " << testing::PrintToString(text);
    }
  }
}

}  // namespace
}  // namespace convoy::data
