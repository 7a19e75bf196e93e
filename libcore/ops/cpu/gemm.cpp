// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/cpu/gemm.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libcore/ops/cpu/gemm.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libcore/ops/cpu/dtype_dispatch.h"
#include "libcore/ops/cpu/gemm_kernel-inl.h"
#include "libcore/ops/cpu/gemm_pack-inl.h"
#include "libcore/ops/cpu/vector_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {

// A block of a (kBlockRows x kBlockDepth) stays in the second-level cache while panels of b (kTileColumns x
// kBlockDepth) pass through the first level.
constexpr std::int64_t kBlockDepth = 320;
constexpr std::int64_t kBlockRows = kLanes >= 16 ? 288 : 144;  // a multiple of kTileRows
constexpr std::int64_t kBlockColumns = 2048;                   // of packed products
constexpr std::int64_t kAccumulateColumns = 1024;              // of products that pack both operands
constexpr std::int64_t kTileSize = kTileRows * kTileColumns;

std::int64_t divided_up(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit; }

// Equal blocks of the depth, as few as fit.
std::int64_t depth_block(std::int64_t depth) {
  const std::int64_t blocks = std::max<std::int64_t>(1, divided_up(depth, kBlockDepth));
  return divided_up(depth, blocks);
}

float* take(std::byte*& scratch, std::int64_t floats) {
  auto* piece = reinterpret_cast<float*>(scratch);
  scratch += divided_up(floats * 4, 64) * 64;
  return piece;
}

constexpr std::int64_t kPackedBlock = kBlockRows * kBlockDepth + kPackSlack;

std::size_t multiply_scratch(std::int64_t depth, std::int64_t columns) {
  const std::int64_t panels = divided_up(std::min(columns, kBlockColumns), kTileColumns);
  const std::int64_t partial = depth > kBlockDepth ? kBlockRows * panels * kTileColumns : 0;
  return static_cast<std::size_t>(kPackedBlock + partial) * sizeof(float) + 128;
}

std::size_t accumulate_scratch(std::int64_t columns) {
  const std::int64_t panels = divided_up(std::min(columns, kAccumulateColumns), kTileColumns);
  return static_cast<std::size_t>(kPackedBlock + panels * kTileColumns * kBlockDepth + kPackSlack) * sizeof(float) +
         128;
}

void pack(const Operand& b, Range depth, Range columns, std::int64_t panel_depth, float* packed) {
  with_float_type(b.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    pack_columns<T>(b, depth, columns, panel_depth, packed);
  });
}

// One block of rows and columns of a packed product, over the whole depth.
template <class X, class Y>
void multiply_block(const PackedProduct& p, Range rows, Range columns, float* packed_a, float* partial) {
  const std::int64_t step = depth_block(p.depth);
  const std::int64_t row_panels = divided_up(rows.length(), kTileRows);
  HWY_ALIGN float tile[kTileSize];
  for (std::int64_t k = 0; k == 0 || k < p.depth; k += step) {
    const std::int64_t depth = std::min(step, p.depth - k);
    const bool last = k + depth >= p.depth;
    pack_rows<X>(p.a, rows, {k, k + depth}, packed_a);
    for (std::int64_t column = columns.begin; column < columns.end; column += kTileColumns) {
      const float* b = p.b + column * p.depth + k * kTileColumns;
      float* column_partial = partial + (column - columns.begin) * row_panels * kTileRows;
      for (std::int64_t panel = 0; panel < row_panels; ++panel) {
        float* sums = column_partial + panel * kTileSize;
        multiply_tile(depth, packed_a + panel * kTileRows * depth, b, k == 0 ? nullptr : sums, last ? tile : sums);
        if (!last) continue;
        const std::int64_t row = rows.begin + panel * kTileRows;
        finish_rows<X, Y>(p, tile, kTileColumns, {row, std::min(row + kTileRows, rows.end)},
                          {column, std::min(column + kTileColumns, columns.end)});
      }
    }
  }
}

void multiply(const PackedProduct& p, std::byte* scratch) {
  float* packed_a = take(scratch, kPackedBlock);
  float* partial = take(scratch, 0);
  with_float_types(p.a.dtype, p.y.dtype, [&](auto x, auto y) {
    using X = typename decltype(x)::type;
    using Y = typename decltype(y)::type;
    for (std::int64_t column = p.columns.begin; column < p.columns.end; column += kBlockColumns) {
      const Range columns{column, std::min(column + kBlockColumns, p.columns.end)};
      for (std::int64_t row = p.rows.begin; row < p.rows.end; row += kBlockRows) {
        multiply_block<X, Y>(p, {row, std::min(row + kBlockRows, p.rows.end)}, columns, packed_a, partial);
      }
    }
  });
}

void finish(const PackedProduct& p, const float* sums, std::int64_t stride) {
  with_float_types(p.a.dtype, p.y.dtype, [&](auto x, auto y) {
    finish_rows<typename decltype(x)::type, typename decltype(y)::type>(p, sums, stride, p.rows, p.columns);
  });
}

// c += one block of the depth.
void accumulate_panels(const AccumulatedProduct& p, Range rows, Range columns, std::int64_t depth,
                       const float* packed_a, const float* packed_b) {
  HWY_ALIGN float tile[kTileSize];
  for (std::int64_t column = columns.begin; column < columns.end; column += kTileColumns) {
    const float* b = packed_b + (column - columns.begin) * depth;
    for (std::int64_t row = rows.begin; row < rows.end; row += kTileRows) {
      float* c = p.c + row * p.stride + column;
      const std::int64_t tile_rows = std::min(kTileRows, rows.end - row);
      const std::int64_t tile_columns = std::min(kTileColumns, columns.end - column);
      for (std::int64_t i = 0; i < tile_rows; ++i) hwy::Prefetch(c + i * p.stride);
      multiply_tile(depth, packed_a + (row - rows.begin) * depth, b, nullptr, tile);
      add_tile(tile, c, p.stride, tile_rows, tile_columns);
    }
  }
}

template <class T>
const T& element(const Operand& x, std::int64_t row, std::int64_t column) {
  return static_cast<const T*>(x.data)[x.transposed ? column * x.stride + row : row * x.stride + column];
}

template <class A, class B>
void accumulate_columns(const AccumulatedProduct& p, Range columns, float* packed_a, float* packed_b) {
  const std::int64_t step = depth_block(p.depth);
  for (std::int64_t k = 0; k < p.depth; k += step) {
    const Range depth{k, std::min(k + step, p.depth)};
    const Operand b{&element<B>(p.b, k, columns.begin), p.b.dtype, p.b.stride, p.b.transposed};
    pack_columns<B>(b, {0, depth.length()}, {0, columns.length()}, depth.length(), packed_b);
    if (p.b_sums != nullptr) {
      add_panel_sums<kTileColumns>(packed_b, depth.length(), columns.length(), p.b_sums + columns.begin);
    }
    for (std::int64_t row = p.rows.begin; row < p.rows.end; row += kBlockRows) {
      const Range rows{row, std::min(row + kBlockRows, p.rows.end)};
      pack_rows<A>(p.a, rows, depth, packed_a);
      if (p.a_sums != nullptr && columns.begin == p.columns.begin) {
        add_panel_sums<kTileRows>(packed_a, depth.length(), rows.length(), p.a_sums + rows.begin);
      }
      accumulate_panels(p, rows, columns, depth.length(), packed_a, packed_b);
    }
  }
}

void accumulate(const AccumulatedProduct& p, std::byte* scratch) {
  float* packed_a = take(scratch, kPackedBlock);
  float* packed_b = take(scratch, 0);
  with_float_types(p.a.dtype, p.b.dtype, [&](auto a, auto b) {
    using A = typename decltype(a)::type;
    using B = typename decltype(b)::type;
    for (std::int64_t column = p.columns.begin; column < p.columns.end; column += kAccumulateColumns) {
      accumulate_columns<A, B>(p, {column, std::min(column + kAccumulateColumns, p.columns.end)}, packed_a, packed_b);
    }
  });
}

template <class T>
void add_column_sums_of(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* out) {
  constexpr std::int64_t kRows = 32;  // summed apart: rounding errors grow with rows / 32 + 32 instead of rows
  constexpr std::int64_t kColumns = 1024;
  HWY_ALIGN float sums[kColumns];
  for (std::int64_t column = 0; column < columns; column += kColumns) {
    const std::int64_t width = std::min(kColumns, columns - column);
    for (std::int64_t row = 0; row < rows; row += kRows) {
      std::fill_n(sums, width, 0.0f);
      for (std::int64_t i = row; i < std::min(row + kRows, rows); ++i) {
        const T* line = x + i * stride + column;
        over_columns(0, width, [&](std::int64_t c, auto part) HWY_ATTR {
          store(hn::Add(load(sums + c, part), load(line + c, part)), sums + c, part);
        });
      }
      float* total = out + column;
      over_columns(0, width, [&](std::int64_t c, auto part) HWY_ATTR {
        store(hn::Add(load(total + c, part), load(sums + c, part)), total + c, part);
      });
    }
  }
}

void add_column_sums(const Operand& x, std::int64_t rows, Range columns, float* out) {
  with_float_type(x.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    add_column_sums_of(static_cast<const T*>(x.data) + columns.begin, x.stride, rows, columns.length(),
                       out + columns.begin);
  });
}

Gemm gemm_kernels() {
  return {.tile_rows = kTileRows,
          .tile_columns = kTileColumns,
          .pack = pack,
          .multiply = multiply,
          .finish = finish,
          .accumulate = accumulate,
          .add_column_sums = add_column_sums,
          .multiply_scratch = multiply_scratch,
          .accumulate_scratch = accumulate_scratch};
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::ops::cpu {

HWY_EXPORT(gemm_kernels);
Gemm dispatched_gemm() { return HWY_DYNAMIC_DISPATCH(gemm_kernels)(); }

const Gemm& gemm() {
  static const Gemm kernels = dispatched_gemm();
  return kernels;
}

}  // namespace convoy::ops::cpu
#endif
