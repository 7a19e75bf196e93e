// SPDX-License-Identifier: Apache-2.0
// Both norms share their kernels: the root-mean-square norm is the layer norm without mean and bias.
#include "libcore/ops/norm.h"

#include <algorithm>
#include <cmath>

#include "libcore/ops/cpu/row_split.h"
#include "libcore/ops/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libcore/ops/cpu/norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libcore/ops/cpu/vector_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void add_rows(const T* x, const T* residual, T* sum, std::int64_t columns) {
  over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR {
    store(hn::Add(load(x + c, part), load(residual + c, part)), sum + c, part);
  });
}

template <class T>
float mean_of(const T* x, std::int64_t columns) {
  Accumulators sums = accumulators(zeros());
  over_columns_in_slots(0, columns, [&](std::int64_t c, auto part, auto slot) HWY_ATTR {
    auto& sum = sums.slots[decltype(slot)::value];
    sum = hn::Add(sum, load(x + c, part));
  });
  return sum_of(sums) / static_cast<float>(columns);
}

template <class T>
float mean_square_about(const T* x, float centre, std::int64_t columns) {
  const auto middle = broadcast(centre);
  Accumulators sums = accumulators(zeros());
  over_columns_in_slots(0, columns, [&](std::int64_t c, auto part, auto slot) HWY_ATTR {
    auto& sum = sums.slots[decltype(slot)::value];
    const auto distance = covered_or(hn::Sub(load(x + c, part), middle), zeros(), part);
    sum = hn::MulAdd(distance, distance, sum);
  });
  return sum_of(sums) / static_cast<float>(columns);
}

template <class T>
void scale_and_shift(const T* x, float mean, float rstd, const T* weight, const T* bias, T* y, std::int64_t columns) {
  const auto middle = broadcast(mean);
  const auto inverse = broadcast(rstd);
  over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR {
    const auto normalised = hn::Mul(hn::Sub(load(x + c, part), middle), inverse);
    const auto w = load(weight + c, part);
    store(bias == nullptr ? hn::Mul(normalised, w) : hn::MulAdd(normalised, w, load(bias + c, part)), y + c, part);
  });
}

template <class T>
void forward_row(const LayerNormForward& args, std::int64_t row) {
  const std::int64_t columns = args.x.columns();
  const T* x = args.x.as<T>() + row * args.x.stride();
  if (args.residual.present()) {
    T* sum = args.sum.as<T>() + row * args.sum.stride();
    add_rows(x, args.residual.as<T>() + row * args.residual.stride(), sum, columns);
    x = sum;  // rounded to its dtype, as backward reads it
  }
  const float mean = args.mean.present() ? mean_of(x, columns) : 0.0f;
  const float rstd = 1.0f / std::sqrt(mean_square_about(x, mean, columns) + args.epsilon);
  if (args.mean.present()) args.mean.as<float>()[row] = mean;
  args.rstd.as<float>()[row] = rstd;
  scale_and_shift(x, mean, rstd, args.weight.as<T>(), args.bias.as<T>(), args.y.as<T>() + row * args.y.stride(),
                  columns);
}

void layernorm_forward(Stream& stream, const LayerNormForward& args) {
  over_rows(stream, args.x.rows(), args.x.columns(), args.x.dtype,
            [&](auto type, std::int64_t begin, std::int64_t end) {
              for (std::int64_t row = begin; row < end; ++row) forward_row<typename decltype(type)::type>(args, row);
            });
}

void rmsnorm_forward(Stream& stream, const RmsNormForward& args) {
  layernorm_forward(stream, {.x = args.x,
                             .residual = args.residual,
                             .weight = args.weight,
                             .bias = {},
                             .epsilon = args.epsilon,
                             .sum = args.sum,
                             .y = args.y,
                             .mean = {},
                             .rstd = args.rstd});
}

// Some rows of a backward pass. They share the loads of the weight and of the partial parameter gradients.
template <class T, int rows>
struct BackwardRows {
  const T* dy[rows];
  const T* dsum[rows];  // null without
  const T* sum[rows];
  T* dx[rows];
  float mean[rows];
  float rstd[rows];
};

template <class T, int rows>
BackwardRows<T, rows> backward_rows(const LayerNormBackward& args, std::int64_t first) {
  BackwardRows<T, rows> block;
  for (int i = 0; i < rows; ++i) {
    const std::int64_t row = first + i;
    block.dy[i] = args.dy.as<T>() + row * args.dy.stride();
    block.dsum[i] = args.dsum.present() ? args.dsum.as<T>() + row * args.dsum.stride() : nullptr;
    block.sum[i] = args.sum.as<T>() + row * args.sum.stride();
    block.dx[i] = args.dx.as<T>() + row * args.dx.stride();
    block.mean[i] = args.mean.present() ? args.mean.as<float>()[row] : 0.0f;
    block.rstd[i] = args.rstd.as<float>()[row];
  }
  return block;
}

// Adds the rows' share to dweight and dbias (null for the root-mean-square norm), and leaves for every row the means
// over the columns of g = dy * weight and of g * normalised, which the gradient of the row's statistics needs.
template <bool centred, class T, int rows>
void reduce_rows(const BackwardRows<T, rows>& block, const T* weight, float* dweight, float* dbias,
                 std::int64_t columns, float (&mean_g)[rows], float (&mean_gn)[rows]) {
  FloatVector sum_g[rows], sum_gn[rows];
  for (int i = 0; i < rows; ++i) sum_g[i] = sum_gn[i] = zeros();
  over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR {
    const auto w = load(weight + c, part);
    auto dw = load(dweight + c, part);
    auto db = centred ? load(dbias + c, part) : zeros();
    for (int i = 0; i < rows; ++i) {
      const auto dy = load(block.dy[i] + c, part);
      auto x = load(block.sum[i] + c, part);
      if constexpr (centred) x = hn::Sub(x, broadcast(block.mean[i]));
      const auto normalised = hn::Mul(x, broadcast(block.rstd[i]));
      const auto g = hn::Mul(dy, w);
      dw = hn::MulAdd(dy, normalised, dw);
      sum_gn[i] = hn::MulAdd(g, normalised, sum_gn[i]);
      if constexpr (centred) {
        db = hn::Add(db, dy);
        sum_g[i] = hn::Add(sum_g[i], g);
      }
    }
    store(dw, dweight + c, part);
    if constexpr (centred) store(db, dbias + c, part);
  });
  for (int i = 0; i < rows; ++i) {
    mean_g[i] = hn::GetLane(hn::SumOfLanes(FloatTag(), sum_g[i])) / static_cast<float>(columns);
    mean_gn[i] = hn::GetLane(hn::SumOfLanes(FloatTag(), sum_gn[i])) / static_cast<float>(columns);
  }
}

// dx = rstd (g - mean(g) - normalised mean(g normalised)) + dsum
template <class T>
void input_gradient_row(const T* dy, const T* dsum, const T* sum, const T* weight, float mean, float rstd, float mean_g,
                        float mean_gn, T* dx, std::int64_t columns) {
  const auto inverse = broadcast(rstd);
  // rstd (g - mean_g - (x - mean) rstd mean_gn) = rstd g - a x - b
  const auto a = broadcast(rstd * rstd * mean_gn);
  const auto b = broadcast(rstd * mean_g);
  over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR {
    const auto g = hn::Mul(load(dy + c, part), load(weight + c, part));
    const auto x = hn::Sub(load(sum + c, part), broadcast(mean));
    auto result = hn::NegMulAdd(x, a, hn::MulSub(g, inverse, b));
    if (dsum != nullptr) result = hn::Add(result, load(dsum + c, part));
    store(result, dx + c, part);
  });
}

template <class T, int rows>
void backward_block(const LayerNormBackward& args, std::int64_t first, float* dweight, float* dbias) {
  const std::int64_t columns = args.dy.columns();
  const T* weight = args.weight.as<T>();
  const auto block = backward_rows<T, rows>(args, first);
  float mean_g[rows], mean_gn[rows];
  if (args.mean.present()) {
    reduce_rows<true>(block, weight, dweight, dbias, columns, mean_g, mean_gn);
  } else {
    reduce_rows<false>(block, weight, dweight, dbias, columns, mean_g, mean_gn);
  }
  for (int i = 0; i < rows; ++i) {
    input_gradient_row(block.dy[i], block.dsum[i], block.sum[i], weight, block.mean[i], block.rstd[i], mean_g[i],
                       mean_gn[i], block.dx[i], columns);
  }
}

template <class T>
void backward_range(const LayerNormBackward& args, std::int64_t begin, std::int64_t end, float* dweight, float* dbias) {
  constexpr int kRows = 4;
  std::int64_t row = begin;
  for (; row + kRows <= end; row += kRows) backward_block<T, kRows>(args, row, dweight, dbias);
  for (; row < end; ++row) backward_block<T, 1>(args, row, dweight, dbias);
}

// total += the threads' partial sums, in the order of the threads.
void add_partials(const float* partials, std::int64_t stride, std::int64_t count, float* total, std::int64_t columns) {
  over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR {
    auto sum = load(partials + c, part);
    for (std::int64_t i = 1; i < count; ++i) sum = hn::Add(sum, load(partials + i * stride + c, part));
    store(hn::Add(load(total + c, part), sum), total + c, part);
  });
}

void layernorm_backward(Stream& stream, const LayerNormBackward& args) {
  const std::int64_t rows = args.dy.rows();
  const std::int64_t columns = args.dy.columns();
  if (rows == 0) return;
  const std::int64_t grain = rows_worth_a_thread(columns);
  const std::int64_t parts = std::min<std::int64_t>((rows + grain - 1) / grain, stream.threads());
  const std::int64_t stride = 2 * columns;  // dweight, dbias
  auto* partials =
      reinterpret_cast<float*>(stream.scratch(0, static_cast<std::size_t>(parts * stride) * sizeof(float)));
  with_float_type(args.dy.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    stream.pool().parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end, int thread) {
      float* dweight = partials + thread * stride;
      std::fill_n(dweight, stride, 0.0f);
      backward_range<T>(args, begin, end, dweight, dweight + columns);
    });
  });
  add_partials(partials, stride, parts, args.dweight.as<float>(), columns);
  if (args.dbias.present()) add_partials(partials + columns, stride, parts, args.dbias.as<float>(), columns);
}

void rmsnorm_backward(Stream& stream, const RmsNormBackward& args) {
  layernorm_backward(stream, {.dy = args.dy,
                              .dsum = args.dsum,
                              .sum = args.sum,
                              .weight = args.weight,
                              .mean = {},
                              .rstd = args.rstd,
                              .dx = args.dx,
                              .dweight = args.dweight,
                              .dbias = {}});
}

}  // namespace

NormTable norm_kernels() {
  return {.layernorm_forward = layernorm_forward,
          .layernorm_backward = layernorm_backward,
          .rmsnorm_forward = rmsnorm_forward,
          .rmsnorm_backward = rmsnorm_backward};
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::ops::cpu {

HWY_EXPORT(norm_kernels);
NormTable norm_table() { return HWY_DYNAMIC_DISPATCH(norm_kernels)(); }

}  // namespace convoy::ops::cpu
#endif
