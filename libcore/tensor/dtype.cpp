// SPDX-License-Identifier: Apache-2.0
#include "libcore/tensor/dtype.h"

#include "libcore/base/error.h"

namespace convoy::tensor {

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
    case DType::kU16:
      return 2;
    case DType::kU8:
      return 1;
  }
  throw InternalError("size_of: not an element type");
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "fp32";
    case DType::kBF16:
      return "bf16";
    case DType::kF16:
      return "fp16";
    case DType::kF64:
      return "fp64";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
    case DType::kU16:
      return "u16";
    case DType::kU8:
      return "u8";
  }
  throw InternalError("name_of: not an element type");
}

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {  // zero and subnormal: mantissa x 2^-24, exact in fp32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  const std::uint32_t wide_exponent = exponent == 0x1fu ? 0xffu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide_exponent << 23) | (mantissa << 13));
}

}  // namespace convoy::tensor
