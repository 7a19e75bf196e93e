// SPDX-License-Identifier: Apache-2.0
// Element types, and the conversions between them that must be exact everywhere.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace convoy::tensor {

// Stored on disk: never renumber.
enum class DType : std::uint8_t { kF32 = 0, kBF16 = 1, kF16 = 2, kF64 = 3, kI32 = 4, kI64 = 5, kU16 = 6, kU8 = 7 };

std::size_t size_of(DType dtype);
std::string_view name_of(DType dtype);  // "fp32", "bf16", "fp16", "fp64", "i32", "i64", "u16", "u8"

// The upper half of a float's bits.
struct Bf16 {
  std::uint16_t bits = 0;
};

inline float to_float(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

// Rounds to nearest, ties to even; a NaN stays a (quiet) NaN.
inline Bf16 to_bf16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

float half_to_float(std::uint16_t bits);  // IEEE binary16

}  // namespace convoy::tensor
