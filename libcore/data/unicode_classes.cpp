// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/unicode_classes.h"

#include <algorithm>

#include "libcore/base/utf8.h"

namespace convoy::data {
namespace {

constexpr std::size_t kCodes = 0x110000;

}  // namespace

CharacterClasses::CharacterClasses() : classes_(kCodes) {
  const auto runs = class_runs();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t end = i + 1 < runs.size() ? runs[i + 1].first : kCodes;
    if (runs[i].classes == 0) continue;
    std::fill(classes_.begin() + runs[i].first, classes_.begin() + static_cast<std::ptrdiff_t>(end), runs[i].classes);
  }
}

std::string with_known_characters(std::string_view text) {
  const auto all = stand_ins();
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter character = decode_valid_character(text.data() + at);
    const auto found = std::lower_bound(all.begin(), all.end(), character.code, [](const StandIn& s, std::uint32_t code) { return s.last < code; });
    if (character.bytes > 1 && found != all.end() && found->first <= character.code) {
      append_character(found->code, out);
    } else {
      out += text.substr(at, character.bytes);
    }
    at += character.bytes;
  }
  return out;
}

}  // namespace convoy::data
