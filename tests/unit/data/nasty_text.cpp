// SPDX-License-Identifier: Apache-2.0
#include "nasty_text.h"

#include <array>

#include "libcore/base/utf8.h"

namespace convoy::data::golden {
namespace {

using namespace std::string_view_literals;

constexpr std::array kAtoms{
    // blanks, marks of blanks, line ends
    " "sv, "  "sv, "    "sv, "\t"sv, "\n"sv, "\r\n"sv, "\xe2\x96\x81"sv, " \xe2\x96\x81 "sv, "\xc2\xa0"sv, "\xe3\x80\x80"sv, "\xe2\x80\x83"sv,
    "\xe2\x80\x8b"sv, "\xef\xbb\xbf"sv, "\0"sv, "\x01"sv, "\x7f"sv, "\xc2\x85"sv,
    // control names and user-defined symbols of differential_models.cpp, whole and cut
    "</s>"sv, "<s>"sv, "<unk>"sv, "<0x41>"sv, "</s"sv, "<|user|>"sv, "<|us"sv, "::="sv, ":::=="sv, "aba"sv, "ab"sv, "ba"sv, "ababa"sv,
    // digits and punctuation
    "0"sv, "42"sv, "1234567890"sv, "3.14"sv, "..."sv, "======"sv, "->"sv, "'s"sv, "(x)"sv,
    // accents that are characters, and ones that combine
    "\xc3\xa9"sv, "e\xcc\x81"sv, "a\xcc\x8a"sv, "A\xcc\x80"sv, "\xcc\x81"sv, "\xc3\x9f"sv, "\xc4\xb0"sv, "\xe1\xba\x9e"sv,
    // compatibility forms
    "\xef\xac\x81"sv, "\xef\xbc\xa1"sv, "\xef\xbc\x91"sv, "\xe2\x84\xa2"sv, "\xc2\xbd"sv, "\xe3\x8c\x94"sv, "\xef\xbd\xb6\xef\xbe\x9e"sv, "\xe2\x80\xa6"sv,
    "\xef\xb7\xba"sv,
    // other scripts
    "\xe6\xb5\xb7"sv, "\xe6\xb5\xb7\xe9\x81\x8b"sv, "\xe3\x81\x8b\xe3\x82\x99"sv, "\xed\x95\x9c"sv, "\xe1\x84\x92\xe1\x85\xa1"sv, "\xd0\xb6"sv, "\xd8\xb9"sv,
    "\xe0\xa4\x95\xe0\xa5\x8d\xe0\xa4\xb7"sv, "\xe0\xb8\x81\xe0\xb8\xb3"sv,
    // beyond the basic plane, joined, flags, skin tones, variants
    "\xf0\x9f\x9a\xa2"sv, "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb"sv, "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa"sv, "\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd"sv,
    "\xe2\x9d\xa4\xef\xb8\x8f"sv, "\xf0\x9d\x94\x98"sv, "\xf4\x8f\xbf\xbf"sv, "\xef\xbf\xbd"sv, "\xef\xbf\xbf"sv,
    // no UTF-8: stray and missing continuations, overlong forms, surrogates, too large
    "\xff"sv, "\x80"sv, "\xc3"sv, "\xe6\xb5"sv, "\xf0\x9f\x9a"sv, "\xc0\x80"sv, "\xe0\x80\xaf"sv, "\xed\xa0\x80"sv, "\xf4\x90\x80\x80"sv, "\xf8\x88\x80\x80\x80"sv,
    // words
    "the"sv, "The "sv, " the"sv, "ship"sv, "sail"sv, "a"sv, "b"sv, "x"sv, "aaaa"sv, "Internationalization"sv, "ing"sv, "qzj"sv,
};

}  // namespace

// A word, or a part of it, with the mark in it perhaps a blank.
std::string NastyText::word() {
  std::string text = words_[below(words_.size())];
  if (below(4) == 0) text = text.substr(0, below(text.size() + 1));
  if (below(8) == 0) text = text.substr(below(text.size() + 1));
  const bool with_blanks = below(8) != 0;
  for (std::size_t at = 0; with_blanks && (at = text.find("\xe2\x96\x81", at)) != std::string::npos; ++at) {
    text = text.substr(0, at) + ' ' + text.substr(at + 3);
  }
  return text;
}

std::string NastyText::atom() {
  switch (below(12)) {
    case 0:
    case 1:
    case 2:
    case 3: return std::string(kAtoms[below(kAtoms.size())]);
    case 4: {
      std::string run;
      const std::string_view one = kAtoms[below(kAtoms.size())];
      for (std::uint64_t i = below(below(4) == 0 ? 70 : 9); i > 0; --i) run += one;
      return run;
    }
    case 5: {
      std::string any;
      append_character(static_cast<std::uint32_t>(below(below(2) == 0 ? 0x2000 : 0xd800)), any);
      return any;
    }
    case 6: return std::string(1, static_cast<char>(below(256)));
    default: return words_.empty() ? " " : word();
  }
}

// Few words in any order, so that a text may be one unit, or nearly, and merges meet far from where they began.
std::string NastyText::monotone() {
  std::vector<std::string> few(1 + below(3));
  for (std::string& one : few) one = below(3) == 0 || words_.empty() ? std::string(kAtoms[below(kAtoms.size())]) : word();
  std::string text;
  for (std::uint64_t i = below(below(4) == 0 ? 3000 : 300); i > 0; --i) text += below(200) == 0 ? atom() : few[below(few.size())];
  return text;
}

std::string NastyText::next() {
  if (below(24) == 0) return monotone();
  std::uint64_t atoms = below(below(4) == 0 ? 40 : 12);
  if (below(1000) == 0) atoms = 2000 + below(8000);
  std::string text;
  for (; atoms > 0; --atoms) text += atom();
  return text;
}

}  // namespace convoy::data::golden
