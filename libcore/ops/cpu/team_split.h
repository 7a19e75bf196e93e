// SPDX-License-Identifier: Apache-2.0
// How the result of a matrix product is split over the team: a grid of blocks, so that no two threads write the same
// element and no sum is cut between threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "libcore/ops/cpu/gemm.h"

namespace convoy::ops::cpu {

constexpr std::int64_t rounded_up(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

// Part `index` of [0, count) cut into `parts` ranges at multiples of `unit`.
inline Range cut(std::int64_t count, std::int64_t unit, std::int64_t parts, std::int64_t index) {
  const std::int64_t units = (count + unit - 1) / unit;
  return {std::min(units * index / parts * unit, count), std::min(units * (index + 1) / parts * unit, count)};
}

struct Grid {
  std::int64_t row_unit = 1;
  std::int64_t column_unit = 1;
  std::int64_t row_parts = 1;
  std::int64_t column_parts = 1;

  Range rows(std::int64_t count, std::int64_t thread) const {
    return cut(count, row_unit, row_parts, thread / column_parts);
  }
  Range columns(std::int64_t count, std::int64_t thread) const {
    return cut(count, column_unit, column_parts, thread % column_parts);
  }
};

// The grid of `threads` blocks whose largest block costs least: its area, and what packing or streaming both operands
// adds, which grows with its rows plus its columns.
inline Grid choose_grid(std::int64_t rows, std::int64_t columns, int threads, std::int64_t row_unit,
                        std::int64_t column_unit) {
  constexpr std::int64_t kOperandCost = 16;
  Grid best;
  std::int64_t least = -1;
  for (std::int64_t row_parts = 1; row_parts <= threads; ++row_parts) {
    if (threads % row_parts != 0) continue;
    const std::int64_t column_parts = threads / row_parts;
    const std::int64_t height = rounded_up((rows + row_parts - 1) / row_parts, row_unit);
    const std::int64_t width = rounded_up((columns + column_parts - 1) / column_parts, column_unit);
    const std::int64_t cost = height * width + kOperandCost * (height + width);
    if (least >= 0 && cost >= least) continue;
    least = cost;
    best = {row_unit, column_unit, row_parts, column_parts};
  }
  return best;
}

// Calls body(rows, columns, thread) for each block of a result.
template <class Body>
void over_grid(Stream& stream, std::int64_t rows, std::int64_t columns, const Grid& grid, Body&& body) {
  stream.pool().run([&](int thread) {
    const Range block_rows = grid.rows(rows, thread);
    const Range block_columns = grid.columns(columns, thread);
    if (block_rows.length() > 0 && block_columns.length() > 0) body(block_rows, block_columns, thread);
  });
}

}  // namespace convoy::ops::cpu
