// SPDX-License-Identifier: Apache-2.0
// What the tests of the ops share: matrices with padded rows, random values, double-precision references by finite
// differences, comparison with a tolerance, and the kernels of the baseline instruction set beside the dispatched ones.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libcore/device/stream.h"
#include "libcore/ops/backend.h"
#include "libcore/tensor/tensor.h"

namespace convoy::ops::test {

using Values = std::vector<double>;

// The table as a processor without vector instructions gets it: kernels of one lane.
const Backend& baseline_backend();

// Whether this processor has a vector unit that the kernels are compiled for.
bool dispatches_to_vectors();
// Runs `call` with Highway's choice of instruction set narrowed to the baseline.
void with_baseline_kernels(const std::function<void()>& call);

// Attention's kernels for this processor, for AVX2 if it has that, and of one lane: each cuts tiles of its own.
std::vector<AttentionTable> attention_tables();

// [rows, columns] whose rows lie `padding` elements apart, the padding filled with a value that no op may touch.
class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t columns, DType dtype, std::int64_t padding = 0);
  Matrix(std::int64_t rows, std::int64_t columns, DType dtype, const Values& values, std::int64_t padding = 0);

  MutableView view() const { return view_; }
  Values values() const;
  void set(const Values& values);           // rounded to the dtype
  std::vector<std::uint8_t> bytes() const;  // padding included
  bool padding_untouched() const;

 private:
  tensor::Tensor storage_;
  MutableView view_;
};

// Normal-like values in (-3, 3) times `scale`, a function of the seed.
Values random_values(std::int64_t count, std::uint32_t seed, double scale = 1.0);
Matrix random_matrix(std::int64_t rows, std::int64_t columns, DType dtype, std::uint32_t seed,
                     std::int64_t padding = 0);
Values filled(std::int64_t count, double value);
Values rounded(const Values& values, DType dtype);

Matrix integers(const std::vector<std::int32_t>& values);  // [n] i32, as one row

// d loss / d x by central differences; `loss` reads x by reference.
Values numeric_gradient(Values& x, const std::function<double()>& loss);
double dot(const Values& a, const Values& b);

// |got - expected| <= relative * |expected| + absolute for every element, else a failure with index, values and
// tolerance.
struct Tolerance {
  double relative;
  double absolute;
};
void expect_close(const Matrix& got, const Values& expected, Tolerance tolerance, const std::string& what);

// Kernels round sums of some hundred terms of order 1 in fp32 (2^-24 each); bf16 results are rounded once more (2^-9),
// fp16 results too (2^-11).
constexpr Tolerance kFp32Tolerance{3e-6, 3e-6};
constexpr Tolerance kBf16Tolerance{4.2e-3, 1e-5};
constexpr Tolerance kFp16Tolerance{1e-3, 1e-5};
inline Tolerance tolerance_of(DType dtype) {
  if (dtype == DType::kF32) return kFp32Tolerance;
  return dtype == DType::kBF16 ? kBf16Tolerance : kFp16Tolerance;
}

// Runs `call` once to let scratch memory grow, forbids growth, and expects that a second run allocates nothing.
void expect_no_allocation(Stream& stream, const std::function<void()>& call);

// The text of the InternalError that `call` throws; empty if none.
std::string refusal_of(const std::function<void()>& call);

// Every dtype on both instruction sets.
struct OpCase {
  DType dtype;
  bool baseline;
};
class OpTest : public testing::TestWithParam<OpCase> {
 protected:
  DType dtype() const { return GetParam().dtype; }
  const Backend& backend() const { return GetParam().baseline ? baseline_backend() : cpu_backend(); }
  Stream stream_{GetParam().baseline ? baseline_backend() : cpu_backend(), 1};
};
std::vector<OpCase> op_cases();
std::string name_of_case(const testing::TestParamInfo<OpCase>& info);

}  // namespace convoy::ops::test
