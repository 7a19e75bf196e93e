// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 of as many counters as a vector has lanes: philox4x32 of base/random.h on every lane. Included once for
// every instruction set.
#if defined(CONVOY_OPS_CPU_PHILOX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOY_OPS_CPU_PHILOX_INL_H
#undef CONVOY_OPS_CPU_PHILOX_INL_H
#else
#define CONVOY_OPS_CPU_PHILOX_INL_H
#endif

#include <cstdint>

#include "libcore/ops/cpu/vector_io-inl.h"
#include "libcore/ops/dropout.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {

using BitsTag = hn::RebindToUnsigned<FloatTag>;
using BitsVector = hn::Vec<BitsTag>;

// Neighbours whose bits come of as many blocks (ops/dropout.h).
constexpr std::int64_t kBlocksAbreast = 16;
static_assert(kBlocksAbreast % kLanes == 0, "a vector lies within the neighbours");

HWY_INLINE BitsVector bits(std::int64_t x) { return hn::Set(BitsTag(), static_cast<std::uint32_t>(x)); }
// x, x + 1, ... in the lanes.
HWY_INLINE BitsVector bits_from(std::int64_t x) { return hn::Iota(BitsTag(), static_cast<std::uint32_t>(x)); }

struct HighLow {
  BitsVector high, low;
};

// Every lane times `factor`, in 64 bits.
template <class D>
HWY_INLINE HighLow multiply_wide(D d, BitsVector x, std::uint32_t factor) {
  if constexpr (kLanes == 1) {
    const std::uint64_t product = std::uint64_t{hn::GetLane(x)} * factor;
    return {hn::Set(d, static_cast<std::uint32_t>(product >> 32)), hn::Set(d, static_cast<std::uint32_t>(product))};
  } else {
    const hn::Repartition<std::uint64_t, D> d64;
    const auto factors = hn::Set(d, factor);
    const auto even = hn::MulEven(x, factors);
    const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, x))), factors);
    return {hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even))),
            hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even))};
  }
}

struct PhiloxWords {
  BitsVector word[4];
};

HWY_INLINE PhiloxWords philox(std::uint64_t key, BitsVector c0, BitsVector c1, BitsVector c2, BitsVector c3) {
  auto low = static_cast<std::uint32_t>(key), high = static_cast<std::uint32_t>(key >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const HighLow product0 = multiply_wide(BitsTag(), c0, 0xD2511F53);
    const HighLow product1 = multiply_wide(BitsTag(), c2, 0xCD9E8D57);
    c0 = hn::Xor(hn::Xor(product1.high, c1), hn::Set(BitsTag(), low));
    c1 = product1.low;
    c2 = hn::Xor(hn::Xor(product0.high, c3), hn::Set(BitsTag(), high));
    c3 = product0.low;
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

// `x` where its bits keep it, 0 where they drop it; not scaled.
HWY_INLINE FloatVector kept(FloatVector x, BitsVector random, BitsVector threshold) {
  return hn::IfThenZeroElse(hn::RebindMask(FloatTag(), hn::Lt(random, threshold)), x);
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
