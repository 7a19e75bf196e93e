// SPDX-License-Identifier: Apache-2.0
#include "libcore/tensor/fp16.h"

namespace convoy::tensor {

Fp16 to_fp16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;
  } else if (magnitude >= 0x47800000u) {  // 65536
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // 2^-14: a unit in the last place is 2^-24, as that of numbers around 0.5 is
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
  } else {  // the carry of the rounding goes into the exponent, up to infinity
    half = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

}  // namespace convoy::tensor
