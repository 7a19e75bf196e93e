// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/activation.h"

#include "libcore/ops/cpu/row_split.h"
#include "libcore/ops/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libcore/ops/cpu/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libcore/ops/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void gelu_forward_row(const T* x, T* y, std::int64_t columns) {
  over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR { store(gelu(load(x + c, part)), y + c, part); });
}

template <class T>
void gelu_backward_row(const T* x, const T* dy, T* dx, std::int64_t columns) {
  over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR {
    store(hn::Mul(load(dy + c, part), gelu_with_derivative(load(x + c, part)).derivative), dx + c, part);
  });
}

template <class T>
void swiglu_forward_row(const T* gate, const T* up, T* y, std::int64_t columns) {
  over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR {
    const auto g = load(gate + c, part);
    store(hn::Mul(hn::Mul(g, sigmoid(g)), load(up + c, part)), y + c, part);
  });
}

// dgate and dup may be gate and up: a vector is read before it is written.
template <class T>
void swiglu_backward_row(const T* gate, const T* up, const T* dy, T* dgate, T* dup, std::int64_t columns) {
  over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR {
    const auto g = load(gate + c, part);
    const auto u = load(up + c, part);
    const auto d = load(dy + c, part);
    const auto s = sigmoid(g);
    const auto silu = hn::Mul(g, s);
    const auto slope = hn::MulAdd(silu, hn::Sub(broadcast(1.0f), s), s);  // s + g s (1 - s)
    store(hn::Mul(hn::Mul(d, u), slope), dgate + c, part);
    store(hn::Mul(d, silu), dup + c, part);
  });
}

void gelu_forward(Stream& stream, const GeluForward& args) {
  const std::int64_t columns = args.x.columns();
  over_rows(stream, args.x.rows(), columns, args.x.dtype, [&](auto type, std::int64_t begin, std::int64_t end) {
    using T = typename decltype(type)::type;
    for (std::int64_t row = begin; row < end; ++row)
      gelu_forward_row(args.x.as<T>() + row * args.x.stride(), args.y.as<T>() + row * args.y.stride(), columns);
  });
}

void gelu_backward(Stream& stream, const GeluBackward& args) {
  const std::int64_t columns = args.x.columns();
  over_rows(stream, args.x.rows(), columns, args.x.dtype, [&](auto type, std::int64_t begin, std::int64_t end) {
    using T = typename decltype(type)::type;
    for (std::int64_t row = begin; row < end; ++row) {
      gelu_backward_row(args.x.as<T>() + row * args.x.stride(), args.dy.as<T>() + row * args.dy.stride(),
                        args.dx.as<T>() + row * args.dx.stride(), columns);
    }
  });
}

void swiglu_forward(Stream& stream, const SwigluForward& args) {
  const std::int64_t columns = args.y.columns();
  over_rows(stream, args.y.rows(), columns, args.y.dtype, [&](auto type, std::int64_t begin, std::int64_t end) {
    using T = typename decltype(type)::type;
    for (std::int64_t row = begin; row < end; ++row) {
      const T* gate = args.gate_up.as<T>() + row * args.gate_up.stride();
      swiglu_forward_row(gate, gate + columns, args.y.as<T>() + row * args.y.stride(), columns);
    }
  });
}

void swiglu_backward(Stream& stream, const SwigluBackward& args) {
  const std::int64_t columns = args.dy.columns();
  over_rows(stream, args.dy.rows(), columns, args.dy.dtype, [&](auto type, std::int64_t begin, std::int64_t end) {
    using T = typename decltype(type)::type;
    for (std::int64_t row = begin; row < end; ++row) {
      const T* gate = args.gate_up.as<T>() + row * args.gate_up.stride();
      T* dgate = args.dgate_up.as<T>() + row * args.dgate_up.stride();
      swiglu_backward_row(gate, gate + columns, args.dy.as<T>() + row * args.dy.stride(), dgate, dgate + columns,
                          columns);
    }
  });
}

}  // namespace

ActivationTable activation_kernels() {
  return {.gelu_forward = gelu_forward,
          .gelu_backward = gelu_backward,
          .swiglu_forward = swiglu_forward,
          .swiglu_backward = swiglu_backward};
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::ops::cpu {

HWY_EXPORT(activation_kernels);
ActivationTable activation_table() { return HWY_DYNAMIC_DISPATCH(activation_kernels)(); }

}  // namespace convoy::ops::cpu
#endif
