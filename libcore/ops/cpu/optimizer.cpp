// SPDX-License-Identifier: Apache-2.0
// Flat ranges, split over the team in multiples of a block; every element is computed alike wherever the cuts fall.
#include "libcore/ops/optimizer.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "libcore/ops/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libcore/ops/cpu/optimizer.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libcore/ops/cpu/dtype_dispatch.h"
#include "libcore/ops/cpu/vector_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kGrain = 16 * 1024;  // elements a thread takes at least
constexpr std::int64_t kSquareBlock = 64;   // elements whose squares are added with rounding

// The constants of a step as the inner loop wants them.
struct AdamWStep {
  FloatVector gradient_scale, beta1, beta2, rest1, rest2, step_size, inverse_correction2, epsilon, decay;
};

AdamWStep adamw_step(const AdamW& args) {
  const auto constant = [](double x) HWY_ATTR { return broadcast(static_cast<float>(x)); };
  return {.gradient_scale = broadcast(args.gradient_scale),
          .beta1 = constant(args.beta1),
          .beta2 = constant(args.beta2),
          .rest1 = constant(1.0 - args.beta1),
          .rest2 = constant(1.0 - args.beta2),
          .step_size = constant(static_cast<double>(args.rate) / args.correction1),
          .inverse_correction2 = constant(1.0 / args.correction2),
          .epsilon = broadcast(args.epsilon),
          .decay = constant(static_cast<double>(args.rate) * static_cast<double>(args.weight_decay))};
}

// `x`, or 0 where it is so small that the moments' decay would soon make it denormal. A NaN stays.
HWY_INLINE FloatVector without_tiny(FloatVector x) {
  return hn::IfThenZeroElse(hn::Lt(hn::Abs(x), broadcast(7.5231638e-37f)), x);  // 2^-120
}

template <class Rounded>
void adamw_range(const AdamW& args, std::int64_t begin, std::int64_t end) {
  const AdamWStep s = adamw_step(args);
  const float* gradient = args.gradient.as<float>();
  float* parameter = args.parameter.as<float>();
  float* first = args.m.as<float>();
  float* second = args.v.as<float>();
  Rounded* rounded = args.rounded.as<Rounded>();
  over_columns(begin, end, [&](std::int64_t i, auto part) HWY_ATTR {
    const auto g = hn::Mul(s.gradient_scale, load(gradient + i, part));
    const auto m = without_tiny(hn::MulAdd(s.beta1, load(first + i, part), hn::Mul(s.rest1, g)));
    const auto v = without_tiny(hn::MulAdd(s.beta2, load(second + i, part), hn::Mul(s.rest2, hn::Mul(g, g))));
    const auto root = hn::Add(hn::Sqrt(hn::Mul(v, s.inverse_correction2)), s.epsilon);
    const auto p_old = load(parameter + i, part);
    const auto change = hn::MulAdd(s.decay, p_old, hn::Div(hn::Mul(s.step_size, m), root));
    const auto p = hn::Sub(p_old, change);
    store(m, first + i, part);
    store(v, second + i, part);
    store(p, parameter + i, part);
    if (rounded != nullptr) store(p, rounded + i, part);
  });
}

void adamw(Stream& stream, const AdamW& args) {
  with_float_type(args.rounded.dtype, [&](auto type) {
    using Rounded = typename decltype(type)::type;
    stream.pool().parallel_for(args.parameter.count(), kGrain, [&](std::int64_t begin, std::int64_t end, int) {
      adamw_range<Rounded>(args, begin, end);
    });
  });
}

// Sixteen sums, element i into number i % 16, and those added in a tree: the same bits for every width of vector.
double squares_of_block(const float* x, std::int64_t count) {
  constexpr std::int64_t kSums = 16;
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  constexpr std::int64_t kWidth = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<double>()));
  constexpr std::int64_t kVectors = kSums / kWidth;
  hn::Vec<hn::ScalableTag<double>> sums[kVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::int64_t k = 0; k < kVectors; ++k) {
      const auto wide = hn::PromoteTo(d, hn::LoadU(df, x + i + k * kWidth));
      sums[k] = hn::MulAdd(wide, wide, sums[k]);  // the square of a float is exact in double
    }
  }
  HWY_ALIGN double lanes[kSums];
  for (std::int64_t k = 0; k < kVectors; ++k) hn::StoreU(sums[k], d, lanes + k * kWidth);
  for (std::int64_t k = 0; i < count; ++i, ++k) lanes[k] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  for (std::int64_t half = kSums / 2; half > 0; half /= 2) {
    for (std::int64_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  }
  return lanes[0];
}

// A sum a thread, and those into one.
void sum_of_squares(Stream& stream, View x, ExactSum& sum) {
  const auto threads = static_cast<std::size_t>(stream.threads());
  auto* sums = reinterpret_cast<ExactSum*>(stream.scratch(0, threads * sizeof(ExactSum)));
  std::uninitialized_value_construct_n(sums, threads);
  stream.pool().parallel_for(x.count(), kGrain, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (; begin < end; begin += kSquareBlock)
      sums[thread].add(squares_of_block(x.as<float>() + begin, std::min(kSquareBlock, end - begin)));
  });
  for (std::size_t thread = 0; thread < threads; ++thread) sum.add(sums[thread]);
}

template <class From, class To>
void cast_range(const From* x, To* y, std::int64_t begin, std::int64_t end) {
  over_columns(begin, end, [&](std::int64_t i, auto part) HWY_ATTR { store(load(x + i, part), y + i, part); });
}

void cast(Stream& stream, View x, MutableView y) {
  with_float_types(x.dtype, y.dtype, [&](auto from, auto to) {
    using From = typename decltype(from)::type;
    using To = typename decltype(to)::type;
    stream.pool().parallel_for(y.count(), kGrain, [&](std::int64_t begin, std::int64_t end, int) {
      cast_range(x.as<From>(), y.as<To>(), begin, end);
    });
  });
}

template <class From, class To>
void add_range(const From* x, To* y, std::int64_t begin, std::int64_t end) {
  over_columns(begin, end, [&](std::int64_t i, auto part) HWY_ATTR {
    store(hn::Add(load(y + i, part), load(x + i, part)), y + i, part);
  });
}

void add(Stream& stream, View x, MutableView y) {
  with_float_types(x.dtype, y.dtype, [&](auto from, auto to) {
    using From = typename decltype(from)::type;
    using To = typename decltype(to)::type;
    stream.pool().parallel_for(y.count(), kGrain, [&](std::int64_t begin, std::int64_t end, int) {
      add_range(x.as<From>(), y.as<To>(), begin, end);
    });
  });
}

void scale_range(FloatVector factor, float* x, std::int64_t begin, std::int64_t end) {
  over_columns(begin, end,
               [&](std::int64_t i, auto part) HWY_ATTR { store(hn::Mul(factor, load(x + i, part)), x + i, part); });
}

void scale(Stream& stream, float factor, MutableView x) {
  stream.pool().parallel_for(x.count(), kGrain, [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    scale_range(broadcast(factor), x.as<float>(), begin, end);
  });
}

void fill_zero(Stream& stream, MutableView x) {
  const auto bytes = x.count() * static_cast<std::int64_t>(tensor::size_of(x.dtype));
  stream.pool().parallel_for(bytes, 4 * kGrain, [&](std::int64_t begin, std::int64_t end, int) {
    std::memset(x.as<char>() + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace

OptimizerTable optimizer_kernels() {
  return {.adamw = adamw,
          .sum_of_squares = sum_of_squares,
          .cast = cast,
          .add = add,
          .scale = scale,
          .fill_zero = fill_zero};
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::ops::cpu {

HWY_EXPORT(optimizer_kernels);
OptimizerTable optimizer_table() { return HWY_DYNAMIC_DISPATCH(optimizer_kernels)(); }

}  // namespace convoy::ops::cpu
#endif
