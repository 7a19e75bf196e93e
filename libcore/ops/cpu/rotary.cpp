// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/rotary.h"

#include "libcore/base/error.h"
#include "libcore/ops/cpu/row_split.h"
#include "libcore/ops/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libcore/ops/cpu/rotary.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libcore/ops/cpu/vector_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {
namespace {

// Turns the pairs (lower[i], lower[i + half]) of one head; `sign` -1 turns back.
template <class T>
void turn_head(T* lower, const float* cosine, const float* sine, float sign, std::int64_t half) {
  T* upper = lower + half;
  over_columns(0, half, [&](std::int64_t i, auto part) HWY_ATTR {
    const auto c = load(cosine + i, part);
    const auto s = hn::Mul(broadcast(sign), load(sine + i, part));
    const auto a = load(lower + i, part);
    const auto b = load(upper + i, part);
    store(hn::NegMulAdd(b, s, hn::Mul(a, c)), lower + i, part);
    store(hn::MulAdd(a, s, hn::Mul(b, c)), upper + i, part);
  });
}

template <class T>
void turn_rows(const Rotary& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t half = args.head_size / 2;
  const std::int64_t heads = args.heads.columns() / args.head_size;
  const std::int32_t* positions = args.positions.as<std::int32_t>();
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t position = positions[row];
    check(position >= 0 && position < args.cosine.rows(), "rotary: every position lies in the table of cosines");
    const float* cosine = args.cosine.as<float>() + position * args.cosine.stride();
    const float* sine = args.sine.as<float>() + position * args.sine.stride();
    T* head = args.heads.as<T>() + row * args.heads.stride();
    for (std::int64_t h = 0; h < heads; ++h, head += args.head_size) {
      turn_head(head, cosine, sine, args.inverse ? -1.0f : 1.0f, half);
    }
  }
}

void rotary(Stream& stream, const Rotary& args) {
  over_rows(stream, args.heads.rows(), args.heads.columns(), args.heads.dtype,
            [&](auto type, std::int64_t begin, std::int64_t end) {
              turn_rows<typename decltype(type)::type>(args, begin, end);
            });
}

}  // namespace

RotaryTable rotary_kernels() { return {.apply = rotary}; }

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::ops::cpu {

HWY_EXPORT(rotary_kernels);
RotaryTable rotary_table() { return HWY_DYNAMIC_DISPATCH(rotary_kernels)(); }

}  // namespace convoy::ops::cpu
#endif
