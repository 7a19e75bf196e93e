// SPDX-License-Identifier: Apache-2.0
// Writes PREFIX.bin and PREFIX.idx byte by byte, independently of the library's writer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace convoy::support {

template <class T>
void append_bytes(std::ofstream& out, T value) {
  out.write(reinterpret_cast<const char*>(&value), sizeof value);
}

// One sequence a document; `lengths` add up to the number of tokens. Token: std::int32_t or std::uint16_t, the pair's
// type.
template <class Token = std::int32_t>
void write_pair(const std::filesystem::path& prefix, const std::vector<std::int32_t>& tokens,
                const std::vector<std::int32_t>& lengths) {
  constexpr bool kNarrow = sizeof(Token) == 2;
  std::ofstream bin(prefix.string() + ".bin", std::ios::binary);
  for (const std::int32_t token : tokens) append_bytes(bin, static_cast<Token>(token));
  std::ofstream idx(prefix.string() + ".idx", std::ios::binary);
  idx.write("MMIDIDX\0\0", 9);
  append_bytes(idx, std::uint64_t{1});
  append_bytes(idx, std::uint8_t{kNarrow ? 8 : 4});
  append_bytes(idx, static_cast<std::uint64_t>(lengths.size()));
  append_bytes(idx, static_cast<std::uint64_t>(lengths.size() + 1));
  for (const std::int32_t length : lengths) append_bytes(idx, length);
  std::int64_t pointer = 0;
  for (const std::int32_t length : lengths) {
    append_bytes(idx, pointer);
    pointer += static_cast<std::int64_t>(sizeof(Token)) * length;
  }
  for (std::size_t d = 0; d <= lengths.size(); ++d) append_bytes(idx, static_cast<std::int64_t>(d));
}

}  // namespace convoy::support
