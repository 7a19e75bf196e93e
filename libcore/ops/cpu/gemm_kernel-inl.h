// SPDX-License-Identifier: Apache-2.0
// The register tile of a matrix product, and what becomes of a finished one. Included once for every instruction set.
#if defined(CONVOY_OPS_CPU_GEMM_KERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOY_OPS_CPU_GEMM_KERNEL_INL_H
#undef CONVOY_OPS_CPU_GEMM_KERNEL_INL_H
#else
#define CONVOY_OPS_CPU_GEMM_KERNEL_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include "libcore/ops/cpu/gemm.h"
#include "libcore/ops/cpu/vector_io-inl.h"
#include "libcore/ops/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {

// Two vectors wide. With 16 registers 6 x 2 sums, 2 vectors of b and one of a fill them; with 32, 12 x 2.
constexpr std::int64_t kTileRows = kLanes >= 16 ? 12 : 6;
constexpr std::int64_t kTileColumns = 2 * kLanes;

// out = start + a b: a is [depth, kTileRows], b [depth, kTileColumns], start (zero if null) and out
// [kTileRows, kTileColumns].
HWY_INLINE void multiply_tile(std::int64_t depth, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                              const float* start, float* out) {
  const FloatTag d;
  FloatVector sums[kTileRows][2];
  if (start == nullptr) {
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kTileRows; ++i) sums[i][0] = sums[i][1] = zeros();
  } else {
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kTileRows; ++i) {
      sums[i][0] = hn::LoadU(d, start + i * kTileColumns);
      sums[i][1] = hn::LoadU(d, start + i * kTileColumns + kLanes);
    }
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const auto b0 = hn::LoadU(d, b);
    const auto b1 = hn::LoadU(d, b + kLanes);
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kTileRows; ++i) {
      const auto ai = hn::Set(d, a[i]);
      sums[i][0] = hn::MulAdd(ai, b0, sums[i][0]);
      sums[i][1] = hn::MulAdd(ai, b1, sums[i][1]);
    }
    a += kTileRows;
    b += kTileColumns;
  }
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < kTileRows; ++i) {
    hn::StoreU(sums[i][0], d, out + i * kTileColumns);
    hn::StoreU(sums[i][1], d, out + i * kTileColumns + kLanes);
  }
}

template <class T>
T* row_of(const MutableView& view, std::int64_t row, std::int64_t column) {
  return view.present() ? view.as<T>() + row * view.stride() + column : nullptr;
}
template <class T>
const T* row_of(const View& view, std::int64_t row, std::int64_t column) {
  return view.present() ? view.as<T>() + row * view.stride() + column : nullptr;
}

// Bias, preactivation, activation and residual of the sums of rows x columns of y; sums[0] is that of the first of
// them.
template <class X, class Y>
HWY_INLINE void finish_rows(const PackedProduct& p, const float* sums, std::int64_t stride, Range rows, Range columns) {
  const bool gelu_wanted = p.activation == Activation::kGeluTanh;
  const float* bias = p.bias == nullptr ? nullptr : p.bias + columns.begin;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    X* preactivation = row_of<X>(p.preactivation, row, columns.begin);
    const Y* residual = row_of<Y>(p.residual, row, columns.begin);
    Y* y = row_of<Y>(p.y, row, columns.begin);
    over_columns(0, columns.length(), [&](std::int64_t c, auto part) HWY_ATTR {
      auto value = load(sums + c, part);
      if (bias != nullptr) value = hn::Add(value, load(bias + c, part));
      if (preactivation != nullptr) {
        store(value, preactivation + c, part);
        value = load(preactivation + c, part);  // rounded to its dtype, as backward and recomputation read it
      }
      if (gelu_wanted) value = gelu(value);
      if (residual != nullptr) value = hn::Add(value, load(residual + c, part));
      store(value, y + c, part);
    });
    sums += stride;
  }
}

HWY_INLINE void add_tile(const float* tile, float* c, std::int64_t stride, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* sums = tile + i * kTileColumns;
    float* line = c + i * stride;
    over_columns(0, columns, [&](std::int64_t j, auto part) HWY_ATTR {
      store(hn::Add(load(line + j, part), load(sums + j)), line + j, part);
    });
  }
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
