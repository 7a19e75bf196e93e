// SPDX-License-Identifier: Apache-2.0
// Each function walks a row of logits once. Sums run in fp32 within pieces of a row, and over the pieces in double.
#include "libcore/ops/classifier.h"

#include <algorithm>
#include <limits>

#include "libcore/ops/cpu/dtype_dispatch.h"
#include "libcore/ops/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libcore/ops/cpu/classifier.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libcore/ops/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kPiece = 2048;  // columns whose exponentials are added in fp32

// A NaN may be passed over: it comes back in the row's sum.
float maximum_of_row(const float* logits, std::int64_t columns) {
  const auto lowest = broadcast(-std::numeric_limits<float>::infinity());
  Accumulators most = accumulators(lowest);
  over_columns_in_slots(0, columns, [&](std::int64_t c, auto part, auto slot) HWY_ATTR {
    auto& highest = most.slots[decltype(slot)::value];
    highest = hn::Max(highest, covered_or(load(logits + c, part), lowest, part));
  });
  const auto all = hn::Max(hn::Max(most.slots[0], most.slots[1]), hn::Max(most.slots[2], most.slots[3]));
  return hn::GetLane(hn::MaxOfLanes(FloatTag(), all));
}

void classifier_maximum(Stream& stream, const ClassifierMaximum& args) {
  stream.pool().parallel_for(args.maximum.count(), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      args.maximum.as<float>()[row] =
          maximum_of_row(args.logits.as<float>() + row * args.logits.stride(), args.logits.columns());
    }
  });
}

float sum_of_exponentials(const float* logits, float maximum, std::int64_t columns) {
  const auto most = broadcast(maximum);
  double total = 0.0;
  for (std::int64_t begin = 0; begin < columns; begin += kPiece) {
    Accumulators sums = accumulators(zeros());
    over_columns_in_slots(begin, std::min(begin + kPiece, columns), [&](std::int64_t c, auto part, auto slot) HWY_ATTR {
      auto& sum = sums.slots[decltype(slot)::value];
      sum = hn::Add(sum, covered_or(exp(hn::Sub(load(logits + c, part), most)), zeros(), part));
    });
    total += static_cast<double>(sum_of(sums));
  }
  return static_cast<float>(total);
}

void classifier_sum(Stream& stream, const ClassifierSum& args) {
  const std::int64_t columns = args.logits.columns();
  stream.pool().parallel_for(args.sum.count(), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* logits = args.logits.as<float>() + row * args.logits.stride();
      const std::int64_t target = args.targets.as<std::int32_t>()[row];
      const bool here = target != kIgnoredTarget && target >= args.first && target < args.first + columns;
      args.sum.as<float>()[row] = sum_of_exponentials(logits, args.maximum.as<float>()[row], columns);
      args.target_logit.as<float>()[row] = here ? logits[target - args.first] : 0.0f;
    }
  });
}

// dlogits may be logits: a vector is read before it is written.
template <class T>
void softmax_row(const float* logits, float maximum, float factor, T* dlogits, std::int64_t columns) {
  const auto most = broadcast(maximum);
  const auto by = broadcast(factor);
  over_columns(0, columns, [&](std::int64_t c, auto part) HWY_ATTR {
    store(hn::Mul(by, exp(hn::Sub(load(logits + c, part), most))), dlogits + c, part);
  });
}

void store_one(float x, float* p) { *p = x; }
void store_one(float x, tensor::Bf16* p) { *p = tensor::to_bf16(x); }
void store_one(float x, tensor::Fp16* p) { *p = tensor::to_fp16(x); }

template <class T>
void backward_row(const ClassifierBackward& args, std::int64_t row) {
  const std::int64_t columns = args.dlogits.columns();
  const float* logits = args.logits.as<float>() + row * args.logits.stride();
  T* dlogits = args.dlogits.as<T>() + row * args.dlogits.stride();
  const std::int64_t target = args.targets.as<std::int32_t>()[row];
  if (target == kIgnoredTarget) {
    std::fill_n(dlogits, columns, T{});
    return;
  }
  const float maximum = args.maximum.as<float>()[row];
  const float factor = args.scale / args.sum.as<float>()[row];
  const std::int64_t column = target - args.first;
  const bool here = column >= 0 && column < columns;
  const float logit = here ? logits[column] : 0.0f;  // before dlogits takes its place
  softmax_row(logits, maximum, factor, dlogits, columns);
  if (here) store_one(factor * hn::GetLane(exp(broadcast(logit - maximum))) - args.scale, dlogits + column);
}

void classifier_backward(Stream& stream, const ClassifierBackward& args) {
  with_float_type(args.dlogits.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    stream.pool().parallel_for(args.dlogits.rows(), 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) backward_row<T>(args, row);
    });
  });
}

}  // namespace

ClassifierTable classifier_kernels() {
  return {.maximum = classifier_maximum, .sum = classifier_sum, .backward = classifier_backward};
}

}  // namespace convoy::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::ops::cpu {

HWY_EXPORT(classifier_kernels);
ClassifierTable classifier_table() { return HWY_DYNAMIC_DISPATCH(classifier_kernels)(); }

}  // namespace convoy::ops::cpu
#endif
