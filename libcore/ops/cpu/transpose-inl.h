// SPDX-License-Identifier: Apache-2.0
// Transposes a square of vectors in registers. Included once for every instruction set.
#if defined(CONVOY_OPS_CPU_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOY_OPS_CPU_TRANSPOSE_INL_H
#undef CONVOY_OPS_CPU_TRANSPOSE_INL_H
#else
#define CONVOY_OPS_CPU_TRANSPOSE_INL_H
#endif

#include <cstdint>

#include "libcore/ops/cpu/vector_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// Exchanges the upper right with the lower left quarter of each square of 2 `distance` rows and lanes: rows a and b are
// `distance` apart.
template <int distance>
HWY_INLINE void exchange(FloatVector& a, FloatVector& b) {
  const FloatTag d;
  const FloatVector row = a;
  if constexpr (distance == 1) {
    a = hn::OddEven(hn::Shuffle2301(b), row);
    b = hn::OddEven(b, hn::Shuffle2301(row));
  } else if constexpr (distance == 2) {
    const hn::Repartition<std::uint64_t, FloatTag> pairs;
    const auto a2 = hn::BitCast(pairs, row);
    const auto b2 = hn::BitCast(pairs, b);
    a = hn::BitCast(d, hn::OddEven(hn::Shuffle01(b2), a2));
    b = hn::BitCast(d, hn::OddEven(b2, hn::Shuffle01(a2)));
  } else if constexpr (distance * 2 == kLanes) {
    a = hn::ConcatLowerLower(d, b, row);
    b = hn::ConcatUpperUpper(d, b, row);
  } else {  // blocks of 128 bits
    a = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), row);
    b = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(row));
  }
}

template <int distance>
HWY_INLINE void exchange_all(FloatVector (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & distance) == 0) exchange<distance>(rows[i], rows[i + distance]);
  }
}
#endif

// Lane j of row i becomes lane i of row j.
HWY_INLINE void transpose(FloatVector (&rows)[kLanes]) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kLanes >= 2) exchange_all<1>(rows);
  if constexpr (kLanes >= 4) exchange_all<2>(rows);
  if constexpr (kLanes >= 8) exchange_all<4>(rows);
  if constexpr (kLanes >= 16) exchange_all<8>(rows);
#else
  (void)rows;
#endif
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
