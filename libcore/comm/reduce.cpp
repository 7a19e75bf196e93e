// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/reduce.h"

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/tensor/fp16.h"

namespace convoy::comm {
namespace {

using tensor::Bf16;
using tensor::DType;
using tensor::Fp16;

// Elements that are carried through all inputs at once: they stay in the nearest cache, and `out` may be an input.
constexpr std::int64_t kBlock = 1024;

float widened(float x) { return x; }
double widened(double x) { return x; }
std::int64_t widened(std::int64_t x) { return x; }
float widened(Bf16 x) { return tensor::to_float(x); }
float widened(Fp16 x) { return tensor::to_float(x); }

template <class Stored, class Value>
Stored stored(Value x) {
  if constexpr (std::is_same_v<Stored, Bf16>) {
    return tensor::to_bf16(x);
  } else if constexpr (std::is_same_v<Stored, Fp16>) {
    return tensor::to_fp16(x);
  } else {
    return x;
  }
}

struct Sum {
  float operator()(float a, float x) const { return a + x; }
  double operator()(double a, double x) const { return a + x; }
  std::int64_t operator()(std::int64_t a, std::int64_t x) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(x));
  }
};

// x != x holds for NaN alone.
struct Maximum {
  template <class T>
  T operator()(T a, T x) const {
    return x > a || x != x ? x : a;
  }
};

struct Minimum {
  template <class T>
  T operator()(T a, T x) const {
    return x < a || x != x ? x : a;
  }
};

template <class Stored, class Operation>
void reduce(std::span<const void* const> inputs, void* out, std::int64_t count, Operation operation) {
  using Value = decltype(widened(Stored{}));
  alignas(64) Value sums[kBlock];
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t length = std::min(kBlock, count - begin);
    const Stored* first = static_cast<const Stored*>(inputs[0]) + begin;
    for (std::int64_t i = 0; i < length; ++i) sums[i] = widened(first[i]);
    for (const void* input : inputs.subspan(1)) {
      const Stored* next = static_cast<const Stored*>(input) + begin;
      for (std::int64_t i = 0; i < length; ++i) sums[i] = operation(sums[i], widened(next[i]));
    }
    Stored* target = static_cast<Stored*>(out) + begin;
    for (std::int64_t i = 0; i < length; ++i) target[i] = stored<Stored>(sums[i]);
  }
}

template <class Operation>
void reduce_any(DType dtype, std::span<const void* const> inputs, void* out, std::int64_t count, Operation operation) {
  switch (dtype) {
    case DType::kF32:
      return reduce<float>(inputs, out, count, operation);
    case DType::kF64:
      return reduce<double>(inputs, out, count, operation);
    case DType::kI64:
      return reduce<std::int64_t>(inputs, out, count, operation);
    case DType::kBF16:
      return reduce<Bf16>(inputs, out, count, operation);
    case DType::kF16:
      return reduce<Fp16>(inputs, out, count, operation);
    default:
      throw InternalError("no reduction of this type");
  }
}

}  // namespace

void reduce_in_rank_order(DType dtype, Reduction reduction, std::span<const void* const> inputs, void* out,
                          std::int64_t count) {
  switch (reduction) {
    case Reduction::kSum:
      return reduce_any(dtype, inputs, out, count, Sum{});
    case Reduction::kMax:
      return reduce_any(dtype, inputs, out, count, Maximum{});
    case Reduction::kMin:
      return reduce_any(dtype, inputs, out, count, Minimum{});
  }
  throw InternalError("unknown reduction");
}

Part part_of(std::int64_t count, int size, int rank) {
  const std::int64_t share = count / size, remainder = count % size;
  const std::int64_t begin = rank * share + std::min<std::int64_t>(rank, remainder);
  return {begin, begin + share + (rank < remainder ? 1 : 0)};
}

}  // namespace convoy::comm
