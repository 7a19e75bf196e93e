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
void append_character(std::uint32_t code, std::string& text);  // code: any below U+110000

}  // namespace convoy
