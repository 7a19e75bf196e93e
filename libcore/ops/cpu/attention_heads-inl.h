// SPDX-License-Identifier: Apache-2.0
// Where the heads of attention lie in memory, and how panels of results go back there. Included once for every
// instruction set.
#if defined(CONVOY_OPS_CPU_ATTENTION_HEADS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOY_OPS_CPU_ATTENTION_HEADS_INL_H
#undef CONVOY_OPS_CPU_ATTENTION_HEADS_INL_H
#else
#define CONVOY_OPS_CPU_ATTENTION_HEADS_INL_H
#endif

#include <cstdint>

#include "libcore/ops/attention.h"
#include "libcore/ops/cpu/gemm_kernel-inl.h"
#include "libcore/ops/cpu/gemm_pack-inl.h"
#include "libcore/ops/cpu/pieces.h"
#include "libcore/ops/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {

// The score of a key that a query does not see. Finite, so that a block in which a query sees nothing gives no NaN:
// what it adds to the sums is multiplied by e^-huge = 0 as soon as a key is seen, and every query sees itself.
constexpr float kHiddenScore = -1e30f;

struct HeadIndex {
  std::int64_t batch;
  std::int64_t query;
  std::int64_t key_value;
};

inline HeadIndex head_index(const AttentionShape& shape, std::int64_t index) {
  const std::int64_t query = index % shape.query_heads;
  return {index / shape.query_heads, query, query / (shape.query_heads / shape.key_value_heads)};
}

constexpr std::int64_t whole_tiles(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows * kTileRows; }
constexpr std::int64_t whole_panels(std::int64_t columns) {
  return (columns + kTileColumns - 1) / kTileColumns * kTileColumns;
}

template <class T, class AnyView>
auto head_pointer(const AnyView& view, const AttentionShape& shape, std::int64_t batch, std::int64_t position,
                  std::int64_t head) {
  return view.template as<T>() + (batch * shape.sequence + position) * view.stride() + head * shape.head_size;
}

// A head's [T, D] from `position` on, or its transpose.
template <class T>
Operand head_operand(const View& view, const AttentionShape& shape, std::int64_t batch, std::int64_t position,
                     std::int64_t head, bool transposed) {
  return {head_pointer<T>(view, shape, batch, position, head), view.dtype, view.stride(), transposed};
}

template <class Float>
Float* head_log_sum_exp(Float* all, const AttentionShape& shape, const HeadIndex& head) {
  return all + (head.batch * shape.query_heads + head.query) * shape.sequence;
}

inline const std::int32_t* head_positions(const View& positions, const AttentionShape& shape, const HeadIndex& head) {
  return positions.present() ? positions.as<std::int32_t>() + head.batch * shape.sequence : nullptr;
}

// The first key that query t of its sequence sees.
inline std::int64_t first_key(const std::int32_t* positions, std::int64_t t) {
  return positions == nullptr ? 0 : std::clamp<std::int64_t>(t - positions[t], 0, t);
}

// y[i, j] = panel[j, i] for i < rows, j < columns; the panel has kTileColumns in a row, and room for whole vectors of
// rows.
template <class T>
void store_transposed(const float* panel, std::int64_t columns, std::int64_t rows, T* y, std::int64_t stride) {
  for (std::int64_t i = 0; i < rows; i += kLanes) {
    over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR {
      FloatVector square[kLanes];
#pragma GCC unroll 16
      for (std::int64_t j = 0; j < kLanes; ++j) square[j] = load(panel + (c + j) * kTileColumns + i);
      transpose(square);
      for (std::int64_t j = 0; j < std::min(kLanes, rows - i); ++j) store(square[j], y + (i + j) * stride + c, part);
    });
  }
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
