// SPDX-License-Identifier: Apache-2.0
// Stored elements as fp32, exactly. Private to the module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "libcore/tensor/dtype.h"

namespace convoy::checkpoint {

// memcpy, because stored data may lie at any address: a header of safetensors need not be padded.
inline void widen(const std::byte* source, tensor::DType dtype, std::int64_t count, float* values) {
  if (dtype == tensor::DType::kF32) {
    std::memcpy(values, source, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, source + 2 * i, sizeof bits);
    values[i] = dtype == tensor::DType::kBF16 ? tensor::to_float(tensor::Bf16{bits}) : tensor::half_to_float(bits);
  }
}

// `count` elements as they are stored, or as fp32 where `wanted` says so.
inline void copy_or_widen(const std::byte* source, tensor::DType dtype, std::int64_t count, tensor::DType wanted,
                          std::byte* values) {
  if (wanted == dtype) {
    std::memcpy(values, source, static_cast<std::size_t>(count) * tensor::size_of(dtype));
  } else {
    widen(source, dtype, count, reinterpret_cast<float*>(values));
  }
}

}  // namespace convoy::checkpoint
