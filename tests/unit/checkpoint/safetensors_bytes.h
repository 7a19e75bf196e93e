// SPDX-License-Identifier: Apache-2.0
// Safetensors files put together by hand, right and wrong.
#pragma once

#include <cstdint>
#include <string>

namespace convoy::checkpoint {

inline std::string little_endian(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

inline std::string safetensors_bytes(const std::string& header, std::size_t data_bytes) {
  return little_endian(header.size()) + header + std::string(data_bytes, '\x01');
}

}  // namespace convoy::checkpoint
