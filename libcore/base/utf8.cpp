// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/utf8.h"

#include <algorithm>
#include <cstring>

namespace convoy {
namespace {

constexpr std::size_t kLongestCharacter = 4;  // bytes

bool is_trail(char c) { return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u; }

std::size_t length_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if ((lead & 0xf0u) == 0xe0u) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

std::size_t skip_ascii(std::string_view text, std::size_t at) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080u;
  for (std::uint64_t word; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & kHighBits) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

}  // namespace

DecodedCharacter decode_character(std::string_view text) {
  if (text.empty()) return {};
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = length_of(lead);
  if (length == 0 || length > text.size()) return {};
  if (length == 1) return {lead, 1};
  std::uint32_t code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_trail(text[i])) return {};
    code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  const std::uint32_t least = length == 2 ? 0x80u : length == 3 ? 0x800u : 0x10000u;
  if (code < least || code > 0x10ffffu || (code >= 0xd800u && code <= 0xdfffu)) return {};
  return {code, length};
}

DecodedCharacter decode_last_character(std::string_view text) {
  std::size_t back = 1;
  while (back < std::min<std::size_t>(4, text.size()) && is_trail(text[text.size() - back])) ++back;
  if (back > text.size()) return {};
  const DecodedCharacter found = decode_character(text.substr(text.size() - back));
  return found.bytes == back ? found : DecodedCharacter{};
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; (at = skip_ascii(text, at)) < text.size();) {
    const DecodedCharacter found = decode_character(text.substr(at));
    if (found.bytes == 0) return at;
    at += found.bytes;
  }
  return std::string_view::npos;
}

void Utf8Check::add(std::string_view part) {
  if (!invalid_ && !held_.empty()) part = complete_held(part);
  if (invalid_ || part.empty()) return;
  const std::size_t found = find_invalid_utf8(part), valid = std::min(found, part.size());
  done_ += valid;
  part.remove_prefix(valid);
  invalid_ = part.size() >= kLongestCharacter;
  if (!invalid_) held_ = part;
}

// Returns what of `part` is left.
std::string_view Utf8Check::complete_held(std::string_view part) {
  const std::size_t before = held_.size();
  held_ += part.substr(0, kLongestCharacter - before);
  const DecodedCharacter found = decode_character(held_);
  if (found.bytes == 0) {
    invalid_ = held_.size() == kLongestCharacter;
    return {};
  }
  held_.clear();
  done_ += found.bytes;
  return part.substr(found.bytes - before);
}

std::size_t Utf8Check::first_invalid() const { return invalid_ || !held_.empty() ? done_ : std::string_view::npos; }

void append_character(std::uint32_t code, std::string& text) {
  const auto byte = [&](std::uint32_t bits) { text.push_back(static_cast<char>(bits)); };
  if (code < 0x80u) return byte(code);
  if (code < 0x800u) {
    byte(0xc0u | (code >> 6));
  } else if (code < 0x10000u) {
    byte(0xe0u | (code >> 12));
    byte(0x80u | ((code >> 6) & 0x3fu));
  } else {
    byte(0xf0u | (code >> 18));
    byte(0x80u | ((code >> 12) & 0x3fu));
    byte(0x80u | ((code >> 6) & 0x3fu));
  }
  byte(0x80u | (code & 0x3fu));
}

}  // namespace convoy
