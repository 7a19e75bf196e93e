// SPDX-License-Identifier: Apache-2.0
// One thread's share of a matrix product in fp32: packed panels and a register-tiled kernel (Goto and van de Geijn,
// "Anatomy of high-performance matrix multiplication", 2008). bf16 and fp16 operands are widened while they are packed.
// An element of the result is one chain of fused multiply-adds whose cuts depend on the depth alone, so that its bits
// do not depend on how the product was split over threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libcore/ops/linear.h"

namespace convoy::ops::cpu {

// A matrix in memory: element (i, j) at data[i * stride + j], or at data[j * stride + i] if transposed.
struct Operand {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t stride = 0;
  bool transposed = false;
};

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t length() const { return end - begin; }
};

// y = act(a b + bias) + residual over rows x columns of y, b packed. Views without data are absent. The residual has
// the dtype of y, the preactivation that of a.
struct PackedProduct {
  Operand a;                 // [M, depth]
  const float* b = nullptr;  // panels over all columns
  std::int64_t depth = 0;
  Range rows;
  Range columns;                // begins at a panel
  const float* bias = nullptr;  // [columns, rounded up to a panel] or null
  Activation activation = Activation::kNone;
  MutableView preactivation;
  View residual;
  MutableView y;
};

// c += a b over rows x columns of c; and where wanted, a_sums[i] += the sum of row i of a, b_sums[j] += that of column
// j of b.
struct AccumulatedProduct {
  Operand a;  // [rows, depth]
  Operand b;  // [depth, columns]
  std::int64_t depth = 0;
  Range rows;
  Range columns;
  float* c = nullptr;
  std::int64_t stride = 0;
  float* a_sums = nullptr;
  float* b_sums = nullptr;
};

// The kernels of one instruction set.
struct Gemm {
  std::int64_t tile_rows;
  std::int64_t tile_columns;  // of a packed panel
  // Writes b at depth x columns of a packed matrix of panel_depth steps (its size: panel_depth * columns rounded up to
  // whole panels); so several matrices are packed side by side or one after the other. The panels begin as zeros.
  void (*pack)(const Operand& b, Range depth, Range columns, std::int64_t panel_depth, float* packed);
  void (*multiply)(const PackedProduct&, std::byte* scratch);
  // y of a product whose sums over the depth were computed elsewhere: [rows, columns] of the ranges, `stride` apart.
  void (*finish)(const PackedProduct&, const float* sums, std::int64_t stride);
  void (*accumulate)(const AccumulatedProduct&, std::byte* scratch);
  // out[j] += sum over i < rows of x(i, j), rows in order, for the columns of the range.
  void (*add_column_sums)(const Operand& x, std::int64_t rows, Range columns, float* out);
  std::size_t (*multiply_scratch)(std::int64_t depth, std::int64_t columns);
  std::size_t (*accumulate_scratch)(std::int64_t columns);
};

// Those of the instruction set that Highway chooses at this moment, and those that it chose first: packed panels have
// the form of one set, so a process stays with it.
Gemm dispatched_gemm();
const Gemm& gemm();

}  // namespace convoy::ops::cpu
