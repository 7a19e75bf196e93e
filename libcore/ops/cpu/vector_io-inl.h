// SPDX-License-Identifier: Apache-2.0
// Vectors of floats from and to fp32, bf16 or fp16 memory, and the walk over the columns of a row. Included by kernel
// sources once for every instruction set (Highway's foreach_target.h); include it after highway.h.
#if defined(CONVOY_OPS_CPU_VECTOR_IO_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOY_OPS_CPU_VECTOR_IO_INL_H
#undef CONVOY_OPS_CPU_VECTOR_IO_INL_H
#else
#define CONVOY_OPS_CPU_VECTOR_IO_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "libcore/tensor/fp16.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using tensor::Bf16;
using tensor::Fp16;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(FloatTag()));  // of a vector of floats

HWY_INLINE FloatVector zeros() { return hn::Zero(FloatTag()); }
HWY_INLINE FloatVector broadcast(float x) { return hn::Set(FloatTag(), x); }

// A whole vector's worth of elements at `p`, as floats.
HWY_INLINE FloatVector load(const float* p) { return hn::LoadU(FloatTag(), p); }
HWY_INLINE FloatVector load(const Bf16* p) {
  const hn::Rebind<std::uint16_t, FloatTag> d16;
  const hn::RebindToUnsigned<FloatTag> d32;
  const auto upper = hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(p));
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(d32, upper)));
}

HWY_INLINE void store(FloatVector x, float* p) { hn::StoreU(x, FloatTag(), p); }

// Rounds to nearest, ties to even; a NaN stays a quiet NaN: tensor::to_bf16 on every lane.
HWY_INLINE void store(FloatVector x, Bf16* p) {
  const hn::RebindToUnsigned<FloatTag> d32;
  const hn::RebindToSigned<FloatTag> d32s;
  const hn::Rebind<std::uint16_t, FloatTag> d16;
  const auto bits = hn::BitCast(d32, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1u));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fffu)));
  const auto quiet = hn::Or(bits, hn::Set(d32, 0x400000u));
  const auto is_nan = hn::RebindMask(d32, hn::IsNaN(x));
  const auto chosen = hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded));
  // At most 0xffff, so the saturation of the demotion never acts.
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(d32s, chosen)), d16, reinterpret_cast<std::uint16_t*>(p));
}

// tensor::to_float on every lane, by integers, so that all instruction sets and all modes for denormal numbers agree.
HWY_INLINE FloatVector load(const Fp16* p) {
  const FloatTag d;
  const hn::Rebind<std::uint16_t, FloatTag> d16;
  const hn::RebindToUnsigned<FloatTag> d32;
  const auto half = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(p)));
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(d32, 0x8000u)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(d32, 0x7fffu)));
  const auto exponent = hn::And(magnitude, hn::Set(d32, 0x1fu << 23));
  const auto rebias = hn::Set(d32, 112u << 23);
  const auto normal = hn::Add(magnitude, rebias);
  const auto special = hn::Add(normal, rebias);  // infinite, or a NaN
  const auto one_up = hn::BitCast(d, hn::Add(normal, hn::Set(d32, 1u << 23)));
  const auto small = hn::BitCast(d32, hn::Sub(one_up, hn::Set(d, 0x1p-14f)));  // zero or subnormal
  const auto is_small = hn::Eq(exponent, hn::Zero(d32));
  const auto is_special = hn::Eq(exponent, hn::Set(d32, 0x1fu << 23));
  const auto chosen = hn::IfThenElse(is_small, small, hn::IfThenElse(is_special, special, normal));
  return hn::BitCast(d, hn::Or(sign, chosen));
}

// tensor::to_fp16 on every lane.
HWY_INLINE void store(FloatVector x, Fp16* p) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d32;
  const hn::Rebind<std::uint16_t, FloatTag> d16;
  const auto bits = hn::BitCast(d32, x);
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 0x8000));
  const auto magnitude = hn::And(bits, hn::Set(d32, 0x7fffffff));
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d32, 1));
  const auto normal =
      hn::ShiftRight<13>(hn::Add(hn::Add(magnitude, odd), hn::Set(d32, 0xfff - (std::int32_t{112} << 23))));
  const auto half = hn::Set(d, 0.5f);
  const auto small = hn::Sub(hn::BitCast(d32, hn::Add(hn::BitCast(d, magnitude), half)), hn::BitCast(d32, half));
  const auto is_small = hn::Lt(magnitude, hn::Set(d32, 0x38800000));
  const auto is_beyond = hn::Gt(magnitude, hn::Set(d32, 0x477fffff));
  const auto is_nan = hn::Gt(magnitude, hn::Set(d32, 0x7f800000));
  const auto beyond = hn::IfThenElse(is_nan, hn::Set(d32, 0x7e00), hn::Set(d32, 0x7c00));
  const auto chosen = hn::IfThenElse(is_small, small, hn::IfThenElse(is_beyond, beyond, normal));
  // At most 0xffff, so the saturation of the demotion never acts.
  hn::StoreU(hn::DemoteTo(d16, hn::Or(sign, chosen)), d16, reinterpret_cast<std::uint16_t*>(p));
}

// The first `count` lanes only (0 < count < kLanes); the others read as zero and are not written.
template <class T>
HWY_INLINE FloatVector load_first(const T* p, std::int64_t count) {
  HWY_ALIGN T lanes[kLanes] = {};
  std::memcpy(lanes, p, static_cast<std::size_t>(count) * sizeof(T));
  return load(lanes);
}
template <class T>
HWY_INLINE void store_first(FloatVector x, T* p, std::int64_t count) {
  HWY_ALIGN T lanes[kLanes];
  store(x, lanes);
  std::memcpy(p, lanes, static_cast<std::size_t>(count) * sizeof(T));
}

// What part of a vector an access covers: kernels are written once and called with either.
struct Whole {};
struct First {
  std::int64_t count;
};

template <class T>
HWY_INLINE FloatVector load(const T* p, Whole) {
  return load(p);
}
template <class T>
HWY_INLINE FloatVector load(const T* p, First part) {
  return load_first(p, part.count);
}
template <class T>
HWY_INLINE void store(FloatVector x, T* p, Whole) {
  store(x, p);
}
template <class T>
HWY_INLINE void store(FloatVector x, T* p, First part) {
  store_first(x, p, part.count);
}
// `x` with the lanes that the access does not cover replaced by those of `otherwise`.
HWY_INLINE FloatVector covered_or(FloatVector x, FloatVector, Whole) { return x; }
HWY_INLINE FloatVector covered_or(FloatVector x, FloatVector otherwise, First part) {
  return hn::IfThenElse(hn::FirstN(FloatTag(), static_cast<std::size_t>(part.count)), x, otherwise);
}

// Calls body(column, part) for vectors that cover [begin, end) in order. Write the lambda as
// [&](std::int64_t c, auto part) HWY_ATTR { ... }.
template <class Body>
HWY_INLINE void over_columns(std::int64_t begin, std::int64_t end, Body&& body) {
  std::int64_t c = begin;
  for (; c + kLanes <= end; c += kLanes) body(c, Whole{});
  if (c < end) body(c, First{end - c});
}

// The same, several vectors apart at a time: body(column, part, slot) with slot a constant of 0 .. kSlots - 1, so that
// a reduction can keep one independent accumulator a slot and is not bound by the latency of one addition.
constexpr int kSlots = 4;
template <int slot>
struct Slot {
  static constexpr int value = slot;
};
template <class Body>
HWY_INLINE void over_columns_in_slots(std::int64_t begin, std::int64_t end, Body&& body) {
  std::int64_t c = begin;
  for (; c + kSlots * kLanes <= end; c += kSlots * kLanes) {
    body(c, Whole{}, Slot<0>{});
    body(c + kLanes, Whole{}, Slot<1>{});
    body(c + 2 * kLanes, Whole{}, Slot<2>{});
    body(c + 3 * kLanes, Whole{}, Slot<3>{});
  }
  for (; c + kLanes <= end; c += kLanes) body(c, Whole{}, Slot<0>{});
  if (c < end) body(c, First{end - c}, Slot<1>{});
}

// Accumulators for over_columns_in_slots.
struct Accumulators {
  FloatVector slots[kSlots];
};
HWY_INLINE Accumulators accumulators(FloatVector start) { return {{start, start, start, start}}; }
HWY_INLINE float sum_of(const Accumulators& a) {
  return hn::GetLane(
      hn::SumOfLanes(FloatTag(), hn::Add(hn::Add(a.slots[0], a.slots[1]), hn::Add(a.slots[2], a.slots[3]))));
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
