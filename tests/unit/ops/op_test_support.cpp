// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/ops/op_test_support.h"

#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <random>

#include "libcore/base/error.h"
#include "libcore/ops/cpu/tables.h"
#include "libcore/tensor/fp16.h"
#include "tests/unit/ops/allocation_counter.h"

namespace convoy::ops::test {
namespace {

constexpr double kPaddingValue = -77.0;  // exact in every dtype

double read(const View& view, std::int64_t index) {
  switch (view.dtype) {
    case DType::kF32:
      return static_cast<double>(view.as<float>()[index]);
    case DType::kBF16:
      return static_cast<double>(tensor::to_float(view.as<tensor::Bf16>()[index]));
    case DType::kF16:
      return static_cast<double>(tensor::to_float(view.as<tensor::Fp16>()[index]));
    default:
      return static_cast<double>(view.as<std::int32_t>()[index]);
  }
}

void write(const MutableView& view, std::int64_t index, double value) {
  switch (view.dtype) {
    case DType::kF32:
      view.as<float>()[index] = static_cast<float>(value);
      break;
    case DType::kBF16:
      view.as<tensor::Bf16>()[index] = tensor::to_bf16(static_cast<float>(value));
      break;
    case DType::kF16:
      view.as<tensor::Fp16>()[index] = tensor::to_fp16(static_cast<float>(value));
      break;
    default:
      view.as<std::int32_t>()[index] = static_cast<std::int32_t>(value);
  }
}

Backend make_baseline() {
  Backend backend = cpu_backend();  // chosen for this processor before the choice is narrowed
  with_baseline_kernels([&] {
    backend.attention = cpu::attention_table();
    backend.norm = cpu::norm_table();
    backend.rotary = cpu::rotary_table();
    backend.activation = cpu::activation_table();
    backend.dropout = cpu::dropout_table();
    backend.embedding = cpu::embedding_table();
    backend.classifier = cpu::classifier_table();
    backend.optimizer = cpu::optimizer_table();
  });
  return backend;
}

}  // namespace

bool dispatches_to_vectors() { return (hwy::SupportedTargets() & (HWY_AVX2 | HWY_AVX3 | HWY_NEON)) != 0; }

namespace {

void with_kernels_of(std::int64_t target, const std::function<void()>& call) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  call();
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

void with_baseline_kernels(const std::function<void()>& call) { with_kernels_of(HWY_SCALAR, call); }

std::vector<AttentionTable> attention_tables() {
  std::vector<AttentionTable> tables = {cpu_backend().attention};
  const std::int64_t supported = hwy::SupportedTargets();
  for (const std::int64_t target : {HWY_AVX2, HWY_SCALAR}) {
    if (target == HWY_SCALAR || (supported & target) != 0)
      with_kernels_of(target, [&] { tables.push_back(cpu::attention_table()); });
  }
  return tables;
}

const Backend& baseline_backend() {
  static const Backend backend = make_baseline();
  return backend;
}

Matrix::Matrix(std::int64_t rows, std::int64_t columns, DType dtype, std::int64_t padding)
    : storage_({rows, columns + padding}, dtype) {
  view_ = {storage_.mutable_view().data, dtype, {rows, columns}, columns + padding};
  for (std::int64_t i = 0; i < storage_.shape().count(); ++i) write(storage_.mutable_view(), i, kPaddingValue);
}

Matrix::Matrix(std::int64_t rows, std::int64_t columns, DType dtype, const Values& values, std::int64_t padding)
    : Matrix(rows, columns, dtype, padding) {
  set(values);
}

Values Matrix::values() const {
  Values result;
  for (std::int64_t row = 0; row < view_.rows(); ++row) {
    for (std::int64_t c = 0; c < view_.columns(); ++c) result.push_back(read(view_, row * view_.stride() + c));
  }
  return result;
}

void Matrix::set(const Values& values) {
  for (std::int64_t i = 0; i < view_.count(); ++i) {
    write(view_, i / view_.columns() * view_.stride() + i % view_.columns(), values.at(static_cast<std::size_t>(i)));
  }
}

std::vector<std::uint8_t> Matrix::bytes() const {
  const auto* data = storage_.as<std::uint8_t>();
  return {data, data + static_cast<std::size_t>(storage_.shape().count()) * tensor::size_of(storage_.dtype())};
}

bool Matrix::padding_untouched() const {
  for (std::int64_t row = 0; row < view_.rows(); ++row) {
    for (std::int64_t c = view_.columns(); c < view_.stride(); ++c) {
      if (read(view_, row * view_.stride() + c) != kPaddingValue) return false;
    }
  }
  return true;
}

Values random_values(std::int64_t count, std::uint32_t seed, double scale) {
  std::mt19937 engine(seed);
  Values values(static_cast<std::size_t>(count));
  for (double& value : values) {
    double sum = -3.0;  // six uniforms less their mean: nearly normal, and the same with every standard library
    for (int i = 0; i < 6; ++i) sum += static_cast<double>(engine()) / 4294967296.0;
    value = scale * sum;
  }
  return values;
}

Matrix random_matrix(std::int64_t rows, std::int64_t columns, DType dtype, std::uint32_t seed, std::int64_t padding) {
  return {rows, columns, dtype, random_values(rows * columns, seed), padding};
}

Values filled(std::int64_t count, double value) { return Values(static_cast<std::size_t>(count), value); }

Values rounded(const Values& values, DType dtype) {
  return Matrix(1, static_cast<std::int64_t>(values.size()), dtype, values).values();
}

Matrix integers(const std::vector<std::int32_t>& values) {
  return {1, static_cast<std::int64_t>(values.size()), DType::kI32, Values(values.begin(), values.end())};
}

Values numeric_gradient(Values& x, const std::function<double()>& loss) {
  constexpr double kStep = 1e-5;  // error of order step^2 and 1e-16 / step
  Values gradient;
  for (double& element : x) {
    const double kept = element;
    element = kept + kStep;
    const double above = loss();
    element = kept - kStep;
    const double below = loss();
    element = kept;
    gradient.push_back((above - below) / (2.0 * kStep));
  }
  return gradient;
}

double dot(const Values& a, const Values& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b.at(i);
  return sum;
}

void expect_close(const Matrix& got, const Values& expected, Tolerance tolerance, const std::string& what) {
  const Values values = got.values();
  ASSERT_EQ(values.size(), expected.size()) << what;
  EXPECT_TRUE(got.padding_untouched()) << what << ": wrote beside its rows";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double allowed = tolerance.relative * std::abs(expected[i]) + tolerance.absolute;
    ASSERT_TRUE(std::abs(values[i] - expected[i]) <= allowed)
        << what << "[" << i << "]: got " << values[i] << ", expected " << expected[i] << ", tolerance " << allowed;
  }
}

void expect_no_allocation(Stream& stream, const std::function<void()>& call) {
  call();
  stream.seal_scratch();
  const std::int64_t before = allocation_count();
  call();
  EXPECT_EQ(allocation_count() - before, 0);
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InternalError& error) {
    return error.what();
  }
  return {};
}

std::vector<OpCase> op_cases() {
  return {{DType::kF32, false}, {DType::kBF16, false}, {DType::kF16, false},
          {DType::kF32, true},  {DType::kBF16, true},  {DType::kF16, true}};
}

std::string name_of_case(const testing::TestParamInfo<OpCase>& info) {
  return std::string(tensor::name_of(info.param.dtype)) + (info.param.baseline ? "Baseline" : "Dispatched");
}

}  // namespace convoy::ops::test
