// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/ops/activation.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/cpu/onednn_linear.h"
#include "libcore/ops/cpu/onednn_products.h"
#include "libcore/ops/cpu/tables.h"
#include "libcore/tensor/tensor.h"
#include "tests/unit/ops/op_test_support.h"

namespace convoy::ops {
namespace {

using tensor::Bf16;
using tensor::Shape;
using tensor::Tensor;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Sums of up to 6,151 products of numbers of size 1 are of size 80; an fp32 chain of them is off by some
// 6e-8 * 80 * sqrt(6151).
constexpr double kFloatTolerance = 5e-4;
// A bf16 result is rounded to 8 bits: half a unit in the last place is 2^-9 of its size.
constexpr double kBf16Relative = 1.0 / 256;

float number(const Tensor& x, std::int64_t i) {
  return x.dtype() == DType::kF32 ? x.as<float>()[i] : tensor::to_float(x.as<Bf16>()[i]);
}

void set(Tensor& x, std::int64_t i, float value) {
  if (x.dtype() == DType::kF32) {
    x.as<float>()[i] = value;
  } else {
    x.as<Bf16>()[i] = tensor::to_bf16(value);
  }
}

Tensor random(Shape shape, DType dtype, unsigned seed) {
  Tensor x(shape, dtype);
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < shape.count(); ++i) set(x, i, normal(generator));
  return x;
}

Tensor of(Shape shape, const std::vector<float>& values, DType dtype = DType::kF32) {
  Tensor x(shape, dtype);
  for (std::int64_t i = 0; i < shape.count(); ++i) set(x, i, values[static_cast<std::size_t>(i)]);
  return x;
}

// A view of the middle columns of a wider tensor.
struct Strided {
  Tensor whole;
  std::int64_t begin;
  std::int64_t columns;
  View view() const { return tensor::columns_of(whole.view(), begin, begin + columns); }
  MutableView mutable_view() { return tensor::columns_of(whole.mutable_view(), begin, begin + columns); }
  float at(std::int64_t row, std::int64_t column) const {
    return number(whole, row * whole.shape().back() + begin + column);
  }
};

Strided strided(std::int64_t rows, std::int64_t columns, DType dtype, unsigned seed) {
  return {random({rows, columns + 5}, dtype, seed), 3, columns};
}

// One weight of some parts, with its packed form.
struct Layer {
  std::vector<Tensor> weights;
  std::vector<Tensor> biases;
  std::vector<std::int64_t> outputs;
  std::int64_t inputs;
  WeightLayout layout;
  PackedWeight packed;

  std::int64_t all_outputs() const { return packed.outputs(); }
  // Weight and bias of output n.
  double weight(std::int64_t n, std::int64_t k) const {
    std::size_t part = 0;
    while (n >= outputs[part]) n -= outputs[part++];
    return number(weights[part], layout == WeightLayout::kOutIn ? n * inputs + k : k * outputs[part] + n);
  }
  double bias(std::int64_t n) const {
    if (biases.empty()) return 0.0;
    std::size_t part = 0;
    while (n >= outputs[part]) n -= outputs[part++];
    return number(biases[part], n);
  }
};

void repack(Stream& stream, Layer& layer) {
  std::vector<View> weights;
  std::vector<View> biases;
  for (const Tensor& weight : layer.weights) weights.push_back(weight.view());
  for (const Tensor& bias : layer.biases) biases.push_back(bias.view());
  pack_weight(stream, weights, biases, layer.packed);
}

Shape weight_shape(WeightLayout layout, std::int64_t outputs, std::int64_t inputs) {
  return layout == WeightLayout::kOutIn ? Shape{outputs, inputs} : Shape{inputs, outputs};
}

Layer make_layer(Stream& stream, DType dtype, WeightLayout layout, std::vector<std::int64_t> outputs,
                 std::int64_t inputs, bool has_bias) {
  Layer layer{
      .weights = {}, .biases = {}, .outputs = std::move(outputs), .inputs = inputs, .layout = layout, .packed = {}};
  unsigned seed = 7;
  for (const std::int64_t n : layer.outputs) {
    layer.weights.push_back(random(weight_shape(layout, n, inputs), dtype, ++seed));
    if (has_bias) layer.biases.push_back(random({n}, dtype, ++seed));
  }
  layer.packed = PackedWeight(stream, dtype, layout, layer.outputs, inputs, has_bias);
  repack(stream, layer);
  return layer;
}

double gelu(double x) { return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x))); }

double tolerance(DType dtype, double expected) {
  return kFloatTolerance + (dtype == DType::kBF16 ? kBf16Relative * std::abs(expected) : 0.0);
}

TEST(LinearForward, HandComputedValuesInBothLayouts) {
  Stream stream(cpu_backend(), 1);
  const Tensor x = of({2, 3}, {1, 2, 3, 0, -1, 2});
  const Tensor bias = of({2}, {10, 20});
  const std::vector<std::int64_t> outputs{2};
  for (const WeightLayout layout : {WeightLayout::kOutIn, WeightLayout::kInOut}) {
    const Tensor w = layout == WeightLayout::kOutIn ? of({2, 3}, {1, 0, 2, -1, 1, 3}) : of({3, 2}, {1, -1, 0, 1, 2, 3});
    PackedWeight packed(stream, DType::kF32, layout, outputs, 3, true);
    const View weights[] = {w.view()};
    const View biases[] = {bias.view()};
    pack_weight(stream, weights, biases, packed);
    Tensor y({2, 2}, DType::kF32);
    linear_forward(stream, {.x = x.view(), .w = &packed, .preactivation = {}, .residual = {}, .y = y.mutable_view()});
    EXPECT_THAT(std::vector<float>(y.as<float>(), y.as<float>() + 4), testing::ElementsAre(17, 30, 14, 25));
  }
}

TEST(LinearBackward, HandComputedValues) {
  Stream stream(cpu_backend(), 1);
  const Tensor w = of({2, 3}, {1, 0, 2, -1, 1, 3});
  const std::vector<std::int64_t> outputs{2};
  PackedWeight packed(stream, DType::kF32, WeightLayout::kOutIn, outputs, 3, false);
  const View weights[] = {w.view()};
  pack_weight(stream, weights, {}, packed);
  const Tensor x = of({2, 3}, {1, 2, 3, 0, -1, 2});
  const Tensor dy = of({2, 2}, {1, 2, -1, 0});
  Tensor dx = of({2, 3}, {9, 9, 9, 9, 9, 9});
  linear_backward_input(stream, {.dy = dy.view(), .w = &packed, .dx = dx.mutable_view()});
  EXPECT_THAT(std::vector<float>(dx.as<float>(), dx.as<float>() + 6), testing::ElementsAre(-1, 2, 8, -1, 0, -2));

  Tensor dweight = of({2, 3}, {100, 0, 0, 0, 0, 0});
  Tensor dbias = of({2}, {0, 50});
  const MutableView dweights[] = {dweight.mutable_view()};
  const MutableView dbiases[] = {dbias.mutable_view()};
  linear_backward_weight(stream, {.dy = dy.view(), .x = x.view(), .dweights = dweights, .dbiases = dbiases});
  EXPECT_THAT(std::vector<float>(dweight.as<float>(), dweight.as<float>() + 6),
              testing::ElementsAre(101, 3, 1, 2, 4, 6));
  EXPECT_THAT(std::vector<float>(dbias.as<float>(), dbias.as<float>() + 2), testing::ElementsAre(0, 52));
}

enum class Products { kOwn, kOneDnn };

struct Case {
  DType dtype;
  WeightLayout layout;
  std::vector<std::int64_t> outputs;
  std::int64_t rows;
  std::int64_t inputs;
  int threads;
  Products products = Products::kOwn;
};

// The host's table, its linear layers our own or those on oneDNN.
const Backend& backend_with(Products products) {
  static const Backend onednn = [] {
    Backend backend = cpu_backend();
    backend.linear = cpu::onednn_linear_table();
    return backend;
  }();
  return products == Products::kOneDnn ? onednn : cpu_backend();
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  std::string name = std::string(tensor::name_of(c.dtype)) + (c.layout == WeightLayout::kOutIn ? "OutIn" : "InOut");
  for (const std::int64_t n : c.outputs) name += "N" + std::to_string(n);
  return name + "M" + std::to_string(c.rows) + "K" + std::to_string(c.inputs) + "Threads" + std::to_string(c.threads) +
         (c.products == Products::kOneDnn ? "OneDnn" : "");
}

class LinearAgainstReference : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Case& c = GetParam();
    if (c.products == Products::kOneDnn && c.dtype == DType::kBF16 && !cpu::has_bf16_products()) {
      GTEST_SKIP() << "this processor has no bf16 products";
    }
  }
  Stream stream{backend_with(GetParam().products), GetParam().threads};
};

TEST_P(LinearAgainstReference, ForwardWithBiasGeluAndResidualOnStridedRows) {
  const Case& c = GetParam();
  const Layer layer = make_layer(stream, c.dtype, c.layout, c.outputs, c.inputs, true);
  const std::int64_t n_end = layer.all_outputs();
  const Strided x = strided(c.rows, c.inputs, c.dtype, 1);
  const Strided residual = strided(c.rows, n_end, c.dtype, 2);
  Strided preactivation = strided(c.rows, n_end, c.dtype, 3);
  Strided y = strided(c.rows, n_end, c.dtype, 4);
  const Strided before = strided(c.rows, n_end, c.dtype, 4);
  linear_forward(stream, {.x = x.view(),
                          .w = &layer.packed,
                          .activation = Activation::kGeluTanh,
                          .preactivation = preactivation.mutable_view(),
                          .residual = residual.view(),
                          .y = y.mutable_view()});
  for (std::int64_t m = 0; m < c.rows; ++m) {
    for (std::int64_t n = 0; n < n_end; ++n) {
      double sum = layer.bias(n);
      for (std::int64_t k = 0; k < c.inputs; ++k) sum += x.at(m, k) * layer.weight(n, k);
      ASSERT_NEAR(preactivation.at(m, n), sum, tolerance(c.dtype, sum)) << "preactivation " << m << ", " << n;
      const double expected = gelu(preactivation.at(m, n)) + residual.at(m, n);
      ASSERT_NEAR(y.at(m, n), expected, tolerance(c.dtype, expected)) << "y " << m << ", " << n;
    }
    for (const std::int64_t outside : {std::int64_t{-1}, n_end}) {
      ASSERT_EQ(y.at(m, outside), before.at(m, outside)) << "written outside its columns, row " << m;
    }
  }
}

// So that what follows from a kept preactivation may be made again.
TEST_P(LinearAgainstReference, ForwardWithGeluGivesTheBitsOfGeluForwardOnThePreactivation) {
  const Case& c = GetParam();
  const Layer layer = make_layer(stream, c.dtype, c.layout, c.outputs, c.inputs, true);
  const Strided x = strided(c.rows, c.inputs, c.dtype, 1);
  Strided preactivation = strided(c.rows, layer.all_outputs(), c.dtype, 3);
  Strided y = strided(c.rows, layer.all_outputs(), c.dtype, 4),
          again = strided(c.rows, layer.all_outputs(), c.dtype, 5);
  linear_forward(stream, {.x = x.view(),
                          .w = &layer.packed,
                          .activation = Activation::kGeluTanh,
                          .preactivation = preactivation.mutable_view(),
                          .residual = {},
                          .y = y.mutable_view()});
  gelu_forward(stream, {.x = preactivation.view(), .y = again.mutable_view()});
  for (std::int64_t m = 0; m < c.rows; ++m) {
    for (std::int64_t n = 0; n < layer.all_outputs(); ++n) ASSERT_EQ(again.at(m, n), y.at(m, n)) << m << ", " << n;
  }
}

TEST_P(LinearAgainstReference, ForwardToFloatWithoutExtras) {
  const Case& c = GetParam();
  const Layer layer = make_layer(stream, c.dtype, c.layout, c.outputs, c.inputs, false);
  const Strided x = strided(c.rows, c.inputs, c.dtype, 1);
  Tensor y({c.rows, layer.all_outputs()}, DType::kF32);
  linear_forward(stream,
                 {.x = x.view(), .w = &layer.packed, .preactivation = {}, .residual = {}, .y = y.mutable_view()});
  for (std::int64_t m = 0; m < c.rows; ++m) {
    for (std::int64_t n = 0; n < layer.all_outputs(); ++n) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < c.inputs; ++k) sum += x.at(m, k) * layer.weight(n, k);
      ASSERT_NEAR(number(y, m * layer.all_outputs() + n), sum, kFloatTolerance) << m << ", " << n;
    }
  }
}

TEST_P(LinearAgainstReference, BackwardInputOverwrites) {
  const Case& c = GetParam();
  const Layer layer = make_layer(stream, c.dtype, c.layout, c.outputs, c.inputs, false);
  const Strided dy = strided(c.rows, layer.all_outputs(), c.dtype, 1);
  Strided dx = strided(c.rows, c.inputs, c.dtype, 2);
  linear_backward_input(stream, {.dy = dy.view(), .w = &layer.packed, .dx = dx.mutable_view()});
  for (std::int64_t m = 0; m < c.rows; ++m) {
    for (std::int64_t k = 0; k < c.inputs; ++k) {
      double sum = 0.0;
      for (std::int64_t n = 0; n < layer.all_outputs(); ++n) sum += dy.at(m, n) * layer.weight(n, k);
      ASSERT_NEAR(dx.at(m, k), sum, tolerance(c.dtype, sum)) << m << ", " << k;
    }
  }
}

TEST_P(LinearAgainstReference, BackwardWeightAddsToEachPart) {
  const Case& c = GetParam();
  std::int64_t n_end = 0;
  for (const std::int64_t n : c.outputs) n_end += n;
  const Strided dy = strided(c.rows, n_end, c.dtype, 1);
  const Strided x = strided(c.rows, c.inputs, c.dtype, 2);
  std::vector<Tensor> dweight;
  std::vector<Tensor> dbias;
  std::vector<MutableView> dweights;
  std::vector<MutableView> dbiases;
  for (const std::int64_t n : c.outputs) {
    dweight.push_back(random(weight_shape(c.layout, n, c.inputs), DType::kF32, 5));
    dbias.push_back(random({n}, DType::kF32, 6));
    dweights.push_back(dweight.back().mutable_view());
    dbiases.push_back(dbias.back().mutable_view());
  }
  linear_backward_weight(
      stream, {.dy = dy.view(), .x = x.view(), .layout = c.layout, .dweights = dweights, .dbiases = dbiases});
  std::int64_t first = 0;
  for (std::size_t part = 0; part < c.outputs.size(); ++part) {
    const std::int64_t outputs = c.outputs[part];
    const Tensor old_weight = random(weight_shape(c.layout, outputs, c.inputs), DType::kF32, 5);
    const Tensor old_bias = random({outputs}, DType::kF32, 6);
    for (std::int64_t n = 0; n < outputs; ++n) {
      double bias_sum = number(old_bias, n);
      for (std::int64_t m = 0; m < c.rows; ++m) bias_sum += dy.at(m, first + n);
      ASSERT_NEAR(number(dbias[part], n), bias_sum, kFloatTolerance) << "dbias " << part << ", " << n;
      for (std::int64_t k = 0; k < c.inputs; ++k) {
        const std::int64_t i = c.layout == WeightLayout::kOutIn ? n * c.inputs + k : k * outputs + n;
        double sum = number(old_weight, i);
        for (std::int64_t m = 0; m < c.rows; ++m) sum += dy.at(m, first + n) * x.at(m, k);
        ASSERT_NEAR(number(dweight[part], i), sum, kFloatTolerance) << "dweight " << part << ", " << n << ", " << k;
      }
    }
    first += outputs;
  }
}

constexpr WeightLayout kOutIn = WeightLayout::kOutIn;
constexpr WeightLayout kInOut = WeightLayout::kInOut;

INSTANTIATE_TEST_SUITE_P(
    PrimeSizes, LinearAgainstReference,
    testing::Values(Case{DType::kF32, kOutIn, {37}, 41, 29, 1}, Case{DType::kF32, kInOut, {37}, 41, 29, 1},
                    Case{DType::kF32, kOutIn, {17, 5, 5}, 23, 13, 1}, Case{DType::kF32, kInOut, {17, 5, 5}, 23, 13, 3},
                    Case{DType::kF32, kOutIn, {53}, 7, 1031, 1}, Case{DType::kF32, kInOut, {101}, 331, 19, 3},
                    Case{DType::kF32, kOutIn, {1}, 1, 1, 2}, Case{DType::kF32, kOutIn, {2111}, 5, 3, 1},
                    Case{DType::kF32, kInOut, {3}, 5, 2111, 2}, Case{DType::kBF16, kOutIn, {37}, 41, 29, 1},
                    Case{DType::kBF16, kInOut, {17, 5, 5}, 23, 13, 3}, Case{DType::kBF16, kOutIn, {53}, 7, 1031, 2}),
    case_name);

// Several blocks of rows (256), of columns (1,024) and of depth (3,072), parts that straddle them.
constexpr Products kOneDnn = Products::kOneDnn;
INSTANTIATE_TEST_SUITE_P(OneDnn, LinearAgainstReference,
                         testing::Values(Case{DType::kF32, kOutIn, {37}, 41, 29, 1, kOneDnn},
                                         Case{DType::kF32, kInOut, {37}, 41, 29, 2, kOneDnn},
                                         Case{DType::kF32, kOutIn, {17, 5, 5}, 23, 13, 3, kOneDnn},
                                         Case{DType::kF32, kInOut, {901, 700}, 5, 67, 2, kOneDnn},
                                         Case{DType::kF32, kOutIn, {901, 700}, 5, 67, 1, kOneDnn},
                                         Case{DType::kF32, kOutIn, {11}, 521, 7, 1, kOneDnn},
                                         Case{DType::kF32, kOutIn, {3}, 5, 6151, 2, kOneDnn},
                                         Case{DType::kF32, kInOut, {3, 6151}, 5, 3, 2, kOneDnn},
                                         Case{DType::kBF16, kOutIn, {37}, 41, 29, 1, kOneDnn},
                                         Case{DType::kBF16, kInOut, {901, 700}, 5, 67, 2, kOneDnn},
                                         Case{DType::kBF16, kOutIn, {53}, 300, 3203, 2, kOneDnn}),
                         case_name);

// Results of all three products with a team of `threads`, one after the other.
std::vector<float> all_products(int threads, DType dtype) {
  constexpr std::int64_t kRows = 127;
  constexpr std::int64_t kInputs = 331;
  Stream stream(cpu_backend(), threads);
  const Layer layer = make_layer(stream, dtype, kOutIn, {61, 40}, kInputs, true);
  const Tensor x = random({kRows, kInputs}, dtype, 1);
  const Tensor dy = random({kRows, 101}, dtype, 2);
  Tensor y({kRows, 101}, DType::kF32);
  Tensor dx({kRows, kInputs}, DType::kF32);
  Tensor dweight({101, kInputs}, DType::kF32);
  Tensor dbias({101}, DType::kF32);
  const MutableView dweights[] = {dweight.mutable_view()};
  const MutableView dbiases[] = {dbias.mutable_view()};
  linear_forward(stream,
                 {.x = x.view(), .w = &layer.packed, .preactivation = {}, .residual = {}, .y = y.mutable_view()});
  linear_backward_input(stream, {.dy = dy.view(), .w = &layer.packed, .dx = dx.mutable_view()});
  linear_backward_weight(stream, {.dy = dy.view(), .x = x.view(), .dweights = dweights, .dbiases = dbiases});
  std::vector<float> all;
  for (const Tensor* each : {&y, &dx, &dweight, &dbias}) {
    all.insert(all.end(), each->as<float>(), each->as<float>() + each->shape().count());
  }
  return all;
}

TEST(Linear, RepeatsToTheBitWhateverTheTeam) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    // Where bf16 goes to oneDNN, its blocks and so its roundings follow the split.
    const bool own = dtype == DType::kF32 || !cpu::has_bf16_products();
    for (const int threads : {1, 2, 3, 4}) {
      const std::vector<float> one = all_products(own ? 1 : threads, dtype);
      const std::vector<float> several = all_products(threads, dtype);
      EXPECT_EQ(std::memcmp(one.data(), several.data(), one.size() * sizeof(float)), 0) << threads << " threads";
    }
  }
}

TEST(LinearBackward, IsTheGradientOfForward) {
  constexpr float kStep = 1.0f / 64;  // exact, and the function is linear: the difference has rounding errors only
  constexpr double kDifferenceTolerance = 2e-3;  // 1e-6 of sums of size 10, over 2 / 64
  Stream stream(cpu_backend(), 1);
  Layer layer = make_layer(stream, DType::kF32, kOutIn, {3, 2}, 4, true);
  Tensor x = random({3, 4}, DType::kF32, 1);
  const Tensor dy = random({3, 5}, DType::kF32, 2);
  const auto loss = [&] {
    Tensor y({3, 5}, DType::kF32);
    repack(stream, layer);
    linear_forward(stream,
                   {.x = x.view(), .w = &layer.packed, .preactivation = {}, .residual = {}, .y = y.mutable_view()});
    double sum = 0.0;
    for (std::int64_t i = 0; i < 15; ++i) sum += static_cast<double>(number(y, i)) * number(dy, i);
    return sum;
  };
  const auto slope = [&](float& value) {
    const float old = value;
    value = old + kStep;
    const double above = loss();
    value = old - kStep;
    const double below = loss();
    value = old;
    return (above - below) / (2.0 * kStep);
  };
  Tensor dx({3, 4}, DType::kF32);
  repack(stream, layer);
  linear_backward_input(stream, {.dy = dy.view(), .w = &layer.packed, .dx = dx.mutable_view()});
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_NEAR(number(dx, i), slope(x.as<float>()[i]), kDifferenceTolerance) << i;

  std::vector<Tensor> dweight;
  std::vector<Tensor> dbias;
  std::vector<MutableView> dweights;
  std::vector<MutableView> dbiases;
  for (const std::int64_t n : layer.outputs) {
    dweight.emplace_back(Shape{n, 4}, DType::kF32);
    dbias.emplace_back(Shape{n}, DType::kF32);
    dweights.push_back(dweight.back().mutable_view());
    dbiases.push_back(dbias.back().mutable_view());
  }
  linear_backward_weight(stream, {.dy = dy.view(), .x = x.view(), .dweights = dweights, .dbiases = dbiases});
  for (std::size_t part = 0; part < 2; ++part) {
    for (std::int64_t i = 0; i < dweight[part].shape().count(); ++i) {
      EXPECT_NEAR(number(dweight[part], i), slope(layer.weights[part].as<float>()[i]), kDifferenceTolerance) << i;
    }
    for (std::int64_t i = 0; i < dbias[part].shape().count(); ++i) {
      EXPECT_NEAR(number(dbias[part], i), slope(layer.biases[part].as<float>()[i]), kDifferenceTolerance) << i;
    }
  }
}

TEST(LinearForward, MayAddToItsOwnResidual) {
  Stream stream(cpu_backend(), 1);
  const Layer layer = make_layer(stream, DType::kF32, kOutIn, {20}, 9, false);
  const Tensor x = random({7, 9}, DType::kF32, 1);
  Tensor apart({7, 20}, DType::kF32);
  Tensor in_place = random({7, 20}, DType::kF32, 2);
  const Tensor residual = random({7, 20}, DType::kF32, 2);
  linear_forward(
      stream,
      {.x = x.view(), .w = &layer.packed, .preactivation = {}, .residual = residual.view(), .y = apart.mutable_view()});
  linear_forward(stream, {.x = x.view(),
                          .w = &layer.packed,
                          .preactivation = {},
                          .residual = in_place.view(),
                          .y = in_place.mutable_view()});
  EXPECT_EQ(std::memcmp(apart.as<float>(), in_place.as<float>(), 140 * sizeof(float)), 0);
}

TEST(Linear, AsksForNoMoreScratchWhenRowsChange) {
  Stream stream(cpu_backend(), 2);
  const Layer layer = make_layer(stream, DType::kF32, kOutIn, {50}, 400, false);
  const auto run = [&](std::int64_t rows) {
    const Tensor x = random({rows, 400}, DType::kF32, 1);
    Tensor y({rows, 50}, DType::kF32);
    Tensor dx({rows, 400}, DType::kF32);
    Tensor dweight({50, 400}, DType::kF32);
    const MutableView dweights[] = {dweight.mutable_view()};
    linear_forward(stream,
                   {.x = x.view(), .w = &layer.packed, .preactivation = {}, .residual = {}, .y = y.mutable_view()});
    linear_backward_input(stream, {.dy = y.view(), .w = &layer.packed, .dx = dx.mutable_view()});
    linear_backward_weight(stream, {.dy = y.view(), .x = x.view(), .dweights = dweights, .dbiases = {}});
  };
  run(200);
  stream.seal_scratch();
  EXPECT_NO_THROW(run(1));
  EXPECT_NO_THROW(run(200));
  EXPECT_NO_THROW(run(500));
}

// One step of a layer, forward and backward.
void step(Stream& stream, DType dtype) {
  Layer layer = make_layer(stream, dtype, kOutIn, {50, 20}, 400, true);
  const Tensor x = random({200, 400}, dtype, 1);
  Tensor y({200, 70}, dtype);
  Tensor dx({200, 400}, dtype);
  Tensor dweight[] = {Tensor({50, 400}, DType::kF32), Tensor({20, 400}, DType::kF32)};
  Tensor dbias[] = {Tensor({50}, DType::kF32), Tensor({20}, DType::kF32)};
  const View weights[] = {layer.weights[0].view(), layer.weights[1].view()};
  const View biases[] = {layer.biases[0].view(), layer.biases[1].view()};
  const MutableView dweights[] = {dweight[0].mutable_view(), dweight[1].mutable_view()};
  const MutableView dbiases[] = {dbias[0].mutable_view(), dbias[1].mutable_view()};
  test::expect_no_allocation(stream, [&] {
    pack_weight(stream, weights, biases, layer.packed);
    linear_forward(stream,
                   {.x = x.view(), .w = &layer.packed, .preactivation = {}, .residual = {}, .y = y.mutable_view()});
    linear_backward_input(stream, {.dy = y.view(), .w = &layer.packed, .dx = dx.mutable_view()});
    linear_backward_weight(stream, {.dy = y.view(), .x = x.view(), .dweights = dweights, .dbiases = dbiases});
  });
}

TEST(Linear, AllocatesNothingInTheSecondStep) {
  for (const int threads : {1, 3}) {
    Stream stream(cpu_backend(), threads);
    step(stream, DType::kF32);
    if (cpu::has_bf16_products()) continue;  // oneDNN's execute allocates a few small objects of its own
    Stream another(cpu_backend(), threads);
    step(another, DType::kBF16);
  }
}

TEST(PackedWeight, SaysWhatItIs) {
  Stream stream(cpu_backend(), 1);
  const Layer layer = make_layer(stream, DType::kBF16, kInOut, {6, 2}, 5, true);
  EXPECT_EQ(layer.packed.dtype(), DType::kBF16);
  EXPECT_EQ(layer.packed.layout(), kInOut);
  EXPECT_EQ(layer.packed.outputs(), 8);
  EXPECT_EQ(layer.packed.inputs(), 5);
  EXPECT_TRUE(layer.packed.has_bias());
  EXPECT_THAT(layer.packed.part_outputs(), testing::ElementsAre(6, 2));
  EXPECT_GT(layer.packed.bytes(), 0u);
}

TEST(Linear, RefusesWrongShapesAndDtypes) {
  Stream stream(cpu_backend(), 1);
  Layer layer = make_layer(stream, DType::kBF16, kOutIn, {6, 2}, 5, false);
  const Tensor x({3, 5}, DType::kBF16);
  const Tensor narrow({3, 4}, DType::kBF16);
  const Tensor x_float({3, 5}, DType::kF32);
  Tensor y({3, 8}, DType::kBF16);
  Tensor y_half({3, 8}, DType::kF16);
  const auto forward = [&](const Tensor& input, Tensor& output) {
    linear_forward(
        stream,
        {.x = input.view(), .w = &layer.packed, .preactivation = {}, .residual = {}, .y = output.mutable_view()});
  };
  EXPECT_NO_THROW(forward(x, y));
  EXPECT_THAT([&] { forward(narrow, y); }, ThrowsMessage<InternalError>(HasSubstr("linear_forward: x")));
  EXPECT_THAT([&] { forward(x_float, y); }, ThrowsMessage<InternalError>(HasSubstr("linear_forward: x")));
  EXPECT_THAT([&] { forward(x, y_half); }, ThrowsMessage<InternalError>(HasSubstr("linear_forward: y")));

  Tensor dx({2, 5}, DType::kBF16);
  EXPECT_THAT([&] { linear_backward_input(stream, {.dy = y.view(), .w = &layer.packed, .dx = dx.mutable_view()}); },
              ThrowsMessage<InternalError>(HasSubstr("linear_backward_input: dy")));
  Tensor dweight({7, 5}, DType::kF32);
  const MutableView dweights[] = {dweight.mutable_view()};
  EXPECT_THAT(
      [&] { linear_backward_weight(stream, {.dy = y.view(), .x = x.view(), .dweights = dweights, .dbiases = {}}); },
      ThrowsMessage<InternalError>(HasSubstr("add up to the columns of dy")));
  const View too_few[] = {layer.weights[0].view()};
  EXPECT_THROW(pack_weight(stream, too_few, {}, layer.packed), InternalError);
  const View swapped[] = {layer.weights[1].view(), layer.weights[0].view()};
  EXPECT_THAT([&] { pack_weight(stream, swapped, {}, layer.packed); },
              ThrowsMessage<InternalError>(HasSubstr("pack_weight: weight 0")));
}

}  // namespace
}  // namespace convoy::ops
