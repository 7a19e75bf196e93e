// SPDX-License-Identifier: Apache-2.0
// Elementary functions on vectors of floats. Included by kernel sources once for every instruction set, after
// highway.h.
#if defined(CONVOY_OPS_CPU_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOY_OPS_CPU_VECTOR_MATH_INL_H
#undef CONVOY_OPS_CPU_VECTOR_MATH_INL_H
#else
#define CONVOY_OPS_CPU_VECTOR_MATH_INL_H
#endif

#include "libcore/ops/cpu/vector_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {

// A NaN stays one.
HWY_INLINE FloatVector clamped(FloatVector x, FloatVector lowest, FloatVector highest) {
  if constexpr (kLanes > 1) {
    // x86 gives the second argument of both if one is NaN, Arm gives NaN.
    return hn::Min(highest, hn::Max(lowest, x));
  } else {
    const auto above = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
    return hn::IfThenElse(hn::Gt(above, highest), highest, above);
  }
}

// e^x: within 1.1 units in the last place where the result is a normal number above 2^-125; below that 0, above the
// range of float infinity, of NaN NaN. x = n ln 2 + r with |r| <= ln(2) / 2, and e^r - 1 - r = r^2 q(r) with q the
// minimax polynomial of degree 4 (relative error of e^r 3e-9, found by Remez exchange). n comes out of the low bits of
// x / ln 2 + 1.5 2^23.
HWY_INLINE FloatVector exp(FloatVector x) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> d32;
  const auto shifter = hn::Set(d, 12582912.0f);
  x = clamped(x, broadcast(-87.3f), broadcast(89.0f));
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), shifter);
  const auto n = hn::Sub(shifted, shifter);
  // ln 2 in two parts, the first short enough for n times it to be exact.
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  auto q = hn::MulAdd(hn::Set(d, 0.00138143206f), r, hn::Set(d, 0.00836885069f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.0416684002f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.166665196f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.49999994f));
  const auto e = hn::Add(hn::MulAdd(hn::Mul(r, r), q, r), hn::Set(d, 1.0f));
  // 2^(n - 1), then the missing factor of 2: 2^128 itself is not a float.
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::BitCast(d32, shifted), hn::Set(d32, 126u)));
  const auto scaled = hn::Mul(e, hn::BitCast(d, exponent));
  return hn::Add(scaled, scaled);
}

// 1 / (1 + e^-x)
HWY_INLINE FloatVector sigmoid(FloatVector x) {
  const auto one = broadcast(1.0f);
  return hn::Div(one, hn::Add(one, exp(hn::Neg(x))));
}

// Within 2e-7 absolute (the difference cancels near 0).
HWY_INLINE FloatVector tanh(FloatVector x) {
  return hn::MulSub(broadcast(2.0f), sigmoid(hn::Add(x, x)), broadcast(1.0f));
}

// GELU, tanh form: x (1 + tanh(u)) / 2 = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluParts {
  FloatVector value;
  FloatVector derivative;
};
constexpr float kGeluScale = 1.59576912f;  // 2 sqrt(2 / pi)
constexpr float kGeluCubic = 0.044715f;

HWY_INLINE FloatVector gelu(FloatVector x) {
  const auto inner = hn::MulAdd(hn::Mul(x, x), broadcast(kGeluScale * kGeluCubic), broadcast(kGeluScale));
  return hn::Mul(x, sigmoid(hn::Mul(x, inner)));
}

HWY_INLINE GeluParts gelu_with_derivative(FloatVector x) {
  const auto square = hn::Mul(x, x);
  const auto inner = hn::MulAdd(square, broadcast(kGeluScale * kGeluCubic), broadcast(kGeluScale));
  const auto slope = hn::MulAdd(square, broadcast(3.0f * kGeluScale * kGeluCubic), broadcast(kGeluScale));
  const auto s = sigmoid(hn::Mul(x, inner));
  const auto value = hn::Mul(x, s);
  // s + x s (1 - s) d(2 u)/dx
  const auto derivative = hn::MulAdd(hn::Mul(value, hn::Sub(broadcast(1.0f), s)), slope, s);
  return {value, derivative};
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
