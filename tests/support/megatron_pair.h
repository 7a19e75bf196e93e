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

// i32 tokens, one sequence a document; `lengths` add up to the number of tokens.
inline void write_pair(const std::filesystem::path& prefix, const std::vector<std::int32_t>& tokens,
                       const std::vector<std::int32_t>& lengths) {
  std::ofstream bin(prefix.string() + ".bin", std::ios::binary);
  for (const std::int32_t token : tokens) append_bytes(bin, token);
  std::ofstream idx(prefix.string() + ".idx", std::ios::binary);
  idx.write("MMIDIDX\0\0", 9);
  append_bytes(idx, std::uint64_t{1});
  append_bytes(idx, std::uint8_t{4});
  append_bytes(idx, static_cast<std::uint64_t>(lengths.size()));
  append_bytes(idx, static_cast<std::uint64_t>(lengths.size() + 1));
  for (const std::int32_t length : lengths) append_bytes(idx, length);
  std::int64_t pointer = 0;
  for (const std::int32_t length : lengths) {
    append_bytes(idx, pointer);
    pointer += 4 * length;
  }
  for (std::size_t d = 0; d <= lengths.size(); ++d) append_bytes(idx, static_cast<std::int64_t>(d));
}

}  // namespace convoy::support
