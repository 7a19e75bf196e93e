// SPDX-License-Identifier: Apache-2.0
// Packing of the operands of a matrix product into panels of fp32: a panel holds kTileRows rows of a, or kTileColumns
// columns of b, one step of the depth after the other. Included once for every instruction set.
#if defined(CONVOY_OPS_CPU_GEMM_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOY_OPS_CPU_GEMM_PACK_INL_H
#undef CONVOY_OPS_CPU_GEMM_PACK_INL_H
#else
#define CONVOY_OPS_CPU_GEMM_PACK_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include "libcore/ops/cpu/gemm_kernel-inl.h"
#include "libcore/ops/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {

// Panels are written by whole vectors, which may run past the end by less than this many floats.
constexpr std::int64_t kPackSlack = 64;

HWY_INLINE float widened(float x) { return x; }
HWY_INLINE float widened(Bf16 x) { return tensor::to_float(x); }
HWY_INLINE float widened(Fp16 x) { return tensor::to_float(x); }

// Lanes [lanes.begin, lanes.end) of a panel whose elements lie side by side in memory: lane j of step k comes from
// source[k * stride + j - lanes.begin].
template <std::int64_t width, class T>
void pack_panel_of_rows(const T* source, std::int64_t stride, std::int64_t depth, Range lanes, float* panel) {
  if (lanes.length() == width) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const T* line = source + k * stride;
      for (std::int64_t j = 0; j + kLanes <= width; j += kLanes) store(load(line + j), panel + j);
      for (std::int64_t j = width / kLanes * kLanes; j < width; ++j) panel[j] = widened(line[j]);
      panel += width;
    }
    return;
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t j = 0; j < lanes.length(); ++j) panel[lanes.begin + j] = widened(source[k * stride + j]);
    panel += width;
  }
}

// The same where the steps of the depth lie side by side: from source[(j - lanes.begin) * stride + k].
template <std::int64_t width, class T>
void pack_panel_of_columns(const T* source, std::int64_t stride, std::int64_t depth, Range lanes, float* panel) {
  std::int64_t k = 0;
  for (; lanes.length() == width && k + kLanes <= depth; k += kLanes) {
    for (std::int64_t j = 0; j < width; j += kLanes) {
      FloatVector square[kLanes];
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < kLanes; ++i)
        square[i] = j + i < width ? load(source + (j + i) * stride + k) : zeros();
      transpose(square);
      // In this order: what a vector writes beyond the panel's width is where the next one goes.
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < kLanes; ++i) store(square[i], panel + (k + i) * width + j);
    }
  }
  for (; k < depth; ++k) {
    for (std::int64_t j = 0; j < lanes.length(); ++j)
      panel[k * width + lanes.begin + j] = widened(source[j * stride + k]);
  }
}

// Rows x depth of a. What a short last panel holds beyond its rows is left as it is: sums with it are not kept.
template <class T>
void pack_rows(const Operand& a, Range rows, Range depth, float* packed) {
  const T* data = static_cast<const T*>(a.data);
  for (std::int64_t row = rows.begin; row < rows.end; row += kTileRows) {
    const Range lanes{0, std::min(kTileRows, rows.end - row)};
    if (a.transposed) {
      pack_panel_of_rows<kTileRows>(data + depth.begin * a.stride + row, a.stride, depth.length(), lanes, packed);
    } else {
      pack_panel_of_columns<kTileRows>(data + row * a.stride + depth.begin, a.stride, depth.length(), lanes, packed);
    }
    packed += kTileRows * depth.length();
  }
}

// Panels of a matrix of panel_depth steps, of which `b` is the part at depth x columns (columns are numbered from the
// start of `packed`; b's first element is at (depth.begin, columns.begin)). Leaves the rest as it is.
template <class T>
void pack_columns(const Operand& b, Range depth, Range columns, std::int64_t panel_depth, float* packed) {
  const T* data = static_cast<const T*>(b.data);
  for (std::int64_t column = columns.begin; column < columns.end;) {
    const std::int64_t panel_begin = column / kTileColumns * kTileColumns;
    const std::int64_t next = std::min(panel_begin + kTileColumns, columns.end);
    const Range lanes{column - panel_begin, next - panel_begin};
    const std::int64_t skip = column - columns.begin;
    float* panel = packed + panel_begin * panel_depth + depth.begin * kTileColumns;
    if (b.transposed) {
      pack_panel_of_columns<kTileColumns>(data + skip * b.stride, b.stride, depth.length(), lanes, panel);
    } else {
      pack_panel_of_rows<kTileColumns>(data + skip, b.stride, depth.length(), lanes, panel);
    }
    column = next;
  }
}

// out[j] += the sum over the depth of lane j, for `count` lanes of packed panels.
template <std::int64_t width>
void add_panel_sums(const float* packed, std::int64_t depth, std::int64_t count, float* out) {
  for (std::int64_t first = 0; first < count; first += width) {
    const float* panel = packed + first * depth;
    over_columns(0, std::min(width, count - first), [&](std::int64_t j, auto part) HWY_ATTR {
      auto even = zeros();
      auto odd = zeros();
      std::int64_t k = 0;
      for (; k + 2 <= depth; k += 2) {
        even = hn::Add(even, load(panel + k * width + j));
        odd = hn::Add(odd, load(panel + (k + 1) * width + j));
      }
      if (k < depth) even = hn::Add(even, load(panel + k * width + j));
      store(hn::Add(load(out + first + j, part), hn::Add(even, odd)), out + first + j, part);
    });
  }
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
