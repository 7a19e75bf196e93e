// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/display.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "libcore/base/utf8.h"

namespace convoy::analysis {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Letter {
  char32_t code = kReplacement;
  std::size_t bytes = 1;
};

// At the front of `text`, which is not empty; the replacement for a byte that begins no character.
Letter first_letter(std::string_view text) {
  const DecodedCharacter found = decode_character(text);
  return found.bytes == 0 ? Letter{} : Letter{found.code, found.bytes};
}

struct Interval {
  char32_t first, last;
};

bool within(char32_t code, const auto& intervals) {
  return std::any_of(intervals.begin(), intervals.end(),
                     [code](const Interval& i) { return code >= i.first && code <= i.last; });
}

// Controls, and the marks that turn the direction of what follows or break the line.
bool is_control(char32_t code) {
  constexpr std::array kControls = {Interval{0x00, 0x1F},     Interval{0x7F, 0x9F},     Interval{0x200E, 0x200F},
                                    Interval{0x2028, 0x202E}, Interval{0x2066, 0x2069}, Interval{0xFEFF, 0xFEFF},
                                    Interval{0xFFF9, 0xFFFB}};
  return within(code, kControls);
}

// Unicode 15: the blocks of combining marks and of zero-width letters that names are likely to have.
bool is_zero_width(char32_t code) {
  constexpr std::array kMarks = {Interval{0x0300, 0x036F}, Interval{0x0483, 0x0489},  Interval{0x0591, 0x05BD},
                                 Interval{0x0610, 0x061A}, Interval{0x064B, 0x065F},  Interval{0x0E34, 0x0E3A},
                                 Interval{0x0E47, 0x0E4E}, Interval{0x1AB0, 0x1AFF},  Interval{0x1DC0, 0x1DFF},
                                 Interval{0x200B, 0x200D}, Interval{0x20D0, 0x20FF},  Interval{0xFE00, 0xFE0F},
                                 Interval{0xFE20, 0xFE2F}, Interval{0xE0100, 0xE01EF}};
  return within(code, kMarks);
}

// Unicode 15, East Asian Width W and F.
bool is_wide(char32_t code) {
  constexpr std::array kWide = {Interval{0x1100, 0x115F},   Interval{0x231A, 0x231B},   Interval{0x2E80, 0x303E},
                                Interval{0x3041, 0x33FF},   Interval{0x3400, 0x4DBF},   Interval{0x4E00, 0x9FFF},
                                Interval{0xA000, 0xA4CF},   Interval{0xA960, 0xA97F},   Interval{0xAC00, 0xD7A3},
                                Interval{0xF900, 0xFAFF},   Interval{0xFE30, 0xFE6F},   Interval{0xFF00, 0xFF60},
                                Interval{0xFFE0, 0xFFE6},   Interval{0x1F300, 0x1F64F}, Interval{0x1F680, 0x1F6FF},
                                Interval{0x1F900, 0x1F9FF}, Interval{0x20000, 0x3FFFD}};
  return within(code, kWide);
}

int width_of(char32_t code) { return is_zero_width(code) ? 0 : is_wide(code) ? 2 : 1; }

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    const auto code = static_cast<std::uint32_t>(letter.code);
    if (is_control(letter.code)) {
      out += code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{{{:x}}}", code);
    } else if (letter.code == kReplacement) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(0, letter.bytes);
    }
    text.remove_prefix(letter.bytes);
  }
  return out;
}

int display_width(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    columns += width_of(letter.code);
    text.remove_prefix(letter.bytes);
  }
  return columns;
}

std::string named_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kMost = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kMost); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kMost) text += fmt::format(" and {} more", ranks.size() - kMost);
  return text;
}

std::string shortened(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  constexpr std::string_view kMore = "...";
  const int room = std::max(0, columns - static_cast<int>(kMore.size()));
  std::size_t bytes = 0;
  for (int used = 0; bytes < text.size();) {
    const Letter letter = first_letter(text.substr(bytes));
    used += width_of(letter.code);
    if (used > room) break;
    bytes += letter.bytes;
  }
  return std::string(text.substr(0, bytes)) + std::string(kMore.substr(0, static_cast<std::size_t>(columns - room)));
}

std::string padded_right(std::string_view text, int columns) {
  return std::string(text) + std::string(static_cast<std::size_t>(std::max(0, columns - display_width(text))), ' ');
}

std::string padded_left(std::string_view text, int columns) {
  return std::string(static_cast<std::size_t>(std::max(0, columns - display_width(text))), ' ') + std::string(text);
}

}  // namespace convoy::analysis
