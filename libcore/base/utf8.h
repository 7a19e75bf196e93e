// SPDX-License-Identifier: Apache-2.0
// Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace convoy {

struct DecodedCharacter {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: the text does not start with a valid character
};

DecodedCharacter decode_character(std::string_view text);
// The valid character that ends where the text does.
DecodedCharacter decode_last_character(std::string_view text);
// Offset of the first byte that is not part of a valid character, or npos.
std::size_t find_invalid_utf8(std::string_view text);
// The character that begins at `text`, which is known to be valid UTF-8: nothing is checked.
inline DecodedCharacter decode_valid_character(const char* text) {
  const auto byte = [text](int i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xe0) return {((lead & 0x1fu) << 6) | (byte(1) & 0x3fu), 2};
  const std::uint32_t middle = ((byte(1) & 0x3fu) << 6) | (byte(2) & 0x3fu);
  if (lead < 0xf0) return {((lead & 0x0fu) << 12) | middle, 3};
  return {((lead & 0x07u) << 18) | (middle << 6) | (byte(3) & 0x3fu), 4};
}
void append_character(std::uint32_t code, std::string& text);  // code: any below U+110000

// find_invalid_utf8 of a text that comes in parts, cut anywhere.
class Utf8Check {
 public:
  void add(std::string_view part);
  std::size_t first_invalid() const;  // if no part follows: the offset in the whole text, or npos

 private:
  std::string_view complete_held(std::string_view part);

  std::size_t done_ = 0;  // bytes in valid characters
  std::string held_;      // up to 3 bytes behind them, which what follows may make a character
  bool invalid_ = false;  // what stands at done_
};

}  // namespace convoy
