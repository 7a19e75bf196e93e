// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/norm.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/unit/ops/op_test_support.h"

namespace convoy::ops::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kRows = 13;
constexpr std::int64_t kPadding = 3;
constexpr float kEpsilon = 1e-5f;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class NormTest : public OpTest {};
INSTANTIATE_TEST_SUITE_P(All, NormTest, testing::ValuesIn(op_cases()), name_of_case);

// Row by row in double; without a bias the root-mean-square norm.
struct Reference {
  Values y, mean, rstd;
};
Reference reference(const Values& x, const Values& weight, const Values& bias) {
  const std::size_t columns = weight.size();
  Reference result;
  for (std::size_t begin = 0; begin < x.size(); begin += columns) {
    double mean = 0.0, square = 0.0;
    if (!bias.empty()) {
      for (std::size_t c = 0; c < columns; ++c) mean += x[begin + c] / static_cast<double>(columns);
    }
    for (std::size_t c = 0; c < columns; ++c) square += std::pow(x[begin + c] - mean, 2) / static_cast<double>(columns);
    const double rstd = 1.0 / std::sqrt(square + static_cast<double>(kEpsilon));
    for (std::size_t c = 0; c < columns; ++c) {
      result.y.push_back((x[begin + c] - mean) * rstd * weight[c] + (bias.empty() ? 0.0 : bias[c]));
    }
    result.mean.push_back(mean);
    result.rstd.push_back(rstd);
  }
  return result;
}

Values sum_of(const Values& a, const Values& b) {
  Values result = a;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] += b.at(i);
  return result;
}

TEST_P(NormTest, LayerNormOfHandValues) {
  Matrix x(1, 2, dtype(), Values{1.0, 3.0}), weight(1, 2, dtype(), Values{2.0, 10.0}),
      bias(1, 2, dtype(), Values{0.5, -1.0});
  Matrix y(1, 2, dtype()), mean(1, 1, DType::kF32), rstd(1, 1, DType::kF32);

  layernorm_forward(stream_, {.x = x.view(),
                              .residual = {},
                              .weight = weight.view(),
                              .bias = bias.view(),
                              .epsilon = 0.0f,
                              .sum = {},
                              .y = y.view(),
                              .mean = mean.view(),
                              .rstd = rstd.view()});

  EXPECT_EQ(y.values(), (Values{-1.5, 9.0}));
  EXPECT_EQ(mean.values(), Values{2.0});
  EXPECT_EQ(rstd.values(), Values{1.0});
}

TEST_P(NormTest, RmsNormOfHandValues) {
  Matrix x(1, 2, dtype(), Values{1.0, 7.0}), weight(1, 2, dtype(), Values{10.0, -5.0}), y(1, 2, dtype()),
      rstd(1, 1, DType::kF32);

  rmsnorm_forward(stream_, {.x = x.view(),
                            .residual = {},
                            .weight = weight.view(),
                            .epsilon = 0.0f,
                            .sum = {},
                            .y = y.view(),
                            .rstd = rstd.view()});

  EXPECT_EQ(y.values(), (Values{2.0, -7.0}));
  expect_close(rstd, {0.2}, kFp32Tolerance, "rstd");
}

TEST_P(NormTest, LayerNormForwardAddsTheResidualAndAgreesWithDouble) {
  for (const std::int64_t columns : {37, 131}) {
    const Matrix x = random_matrix(kRows, columns, dtype(), 1, kPadding),
                 residual = random_matrix(kRows, columns, dtype(), 2, 1);
    const Matrix weight = random_matrix(1, columns, dtype(), 3), bias = random_matrix(1, columns, dtype(), 4);
    const Matrix sum(kRows, columns, dtype(), kPadding), y(kRows, columns, dtype(), kPadding);
    const Matrix mean(1, kRows, DType::kF32), rstd(1, kRows, DType::kF32);

    layernorm_forward(stream_, {.x = x.view(),
                                .residual = residual.view(),
                                .weight = weight.view(),
                                .bias = bias.view(),
                                .epsilon = kEpsilon,
                                .sum = sum.view(),
                                .y = y.view(),
                                .mean = mean.view(),
                                .rstd = rstd.view()});

    const Values expected_sum = rounded(sum_of(x.values(), residual.values()), dtype());
    const Reference expected = reference(expected_sum, weight.values(), bias.values());
    expect_close(sum, expected_sum, {0.0, 0.0}, "sum");
    expect_close(y, expected.y, tolerance_of(dtype()), "y");
    expect_close(mean, expected.mean, kFp32Tolerance, "mean");
    expect_close(rstd, expected.rstd, kFp32Tolerance, "rstd");
  }
}

TEST_P(NormTest, RmsNormForwardAddsTheResidualAndAgreesWithDouble) {
  for (const std::int64_t columns : {37, 131}) {
    const Matrix x = random_matrix(kRows, columns, dtype(), 1, kPadding),
                 residual = random_matrix(kRows, columns, dtype(), 2, 1);
    const Matrix weight = random_matrix(1, columns, dtype(), 3);
    const Matrix sum(kRows, columns, dtype(), kPadding), y(kRows, columns, dtype(), kPadding),
        rstd(1, kRows, DType::kF32);

    rmsnorm_forward(stream_, {.x = x.view(),
                              .residual = residual.view(),
                              .weight = weight.view(),
                              .epsilon = kEpsilon,
                              .sum = sum.view(),
                              .y = y.view(),
                              .rstd = rstd.view()});

    const Values expected_sum = rounded(sum_of(x.values(), residual.values()), dtype());
    const Reference expected = reference(expected_sum, weight.values(), {});
    expect_close(sum, expected_sum, {0.0, 0.0}, "sum");
    expect_close(y, expected.y, tolerance_of(dtype()), "y");
    expect_close(rstd, expected.rstd, kFp32Tolerance, "rstd");
  }
}

TEST_P(NormTest, LayerNormForwardOfAConstantRowIsTheBias) {
  const std::int64_t columns = 37;
  const Matrix x(2, columns, dtype(), filled(2 * columns, 1024.0)), weight = random_matrix(1, columns, dtype(), 3);
  const Matrix bias = random_matrix(1, columns, dtype(), 4), y(2, columns, dtype());
  const Matrix mean(1, 2, DType::kF32), rstd(1, 2, DType::kF32);

  layernorm_forward(stream_, {.x = x.view(),
                              .residual = {},
                              .weight = weight.view(),
                              .bias = bias.view(),
                              .epsilon = kEpsilon,
                              .sum = {},
                              .y = y.view(),
                              .mean = mean.view(),
                              .rstd = rstd.view()});

  Values expected = bias.values();
  expected.insert(expected.end(), expected.begin(), expected.begin() + columns);
  EXPECT_EQ(y.values(), expected);
}

// Everything a backward call needs, from random values; the statistics are the reference's.
struct BackwardCase {
  BackwardCase(DType dtype, std::int64_t rows, std::int64_t columns, bool centred)
      : dy(random_matrix(rows, columns, dtype, 5, kPadding)),
        dsum(random_matrix(rows, columns, dtype, 6, 1)),
        sum(random_matrix(rows, columns, dtype, 7, kPadding)),
        weight(random_matrix(1, columns, dtype, 8)),
        bias(1, columns, dtype, filled(columns, 0.0)),
        mean(1, rows, DType::kF32),
        rstd(1, rows, DType::kF32),
        dx(rows, columns, dtype, filled(rows * columns, kNan), kPadding),
        dweight(random_matrix(1, columns, DType::kF32, 9)),
        dbias(random_matrix(1, columns, DType::kF32, 10)) {
    const Reference statistics = reference(sum.values(), weight.values(), centred ? bias.values() : Values{});
    mean.set(statistics.mean);
    rstd.set(statistics.rstd);
  }
  LayerNormBackward layernorm() const {
    return {.dy = dy.view(),
            .dsum = dsum.view(),
            .sum = sum.view(),
            .weight = weight.view(),
            .mean = mean.view(),
            .rstd = rstd.view(),
            .dx = dx.view(),
            .dweight = dweight.view(),
            .dbias = dbias.view()};
  }
  RmsNormBackward rmsnorm() const {
    return {.dy = dy.view(),
            .dsum = dsum.view(),
            .sum = sum.view(),
            .weight = weight.view(),
            .rstd = rstd.view(),
            .dx = dx.view(),
            .dweight = dweight.view()};
  }
  Matrix dy, dsum, sum, weight, bias, mean, rstd, dx, dweight, dbias;
};

// The statistics reach the kernel rounded to fp32, and a parameter's gradient sums over the rows.
constexpr Tolerance kFp32GradientTolerance{5e-6, 1e-5};
Tolerance gradient_tolerance(DType dtype) { return dtype == DType::kF32 ? kFp32GradientTolerance : kBf16Tolerance; }

TEST_P(NormTest, LayerNormBackwardIsTheDerivativeAndAddsIntoTheParameters) {
  for (const std::int64_t columns : {37, 131}) {
    const BackwardCase c(dtype(), kRows, columns, true);
    const Values dweight_before = c.dweight.values(), dbias_before = c.dbias.values();

    layernorm_backward(stream_, c.layernorm());

    Values x = c.sum.values(), weight = c.weight.values(), bias = c.bias.values();
    const Values dy = c.dy.values();
    const auto loss = [&] { return dot(reference(x, weight, bias).y, dy); };
    expect_close(c.dx, sum_of(numeric_gradient(x, loss), c.dsum.values()), gradient_tolerance(dtype()), "dx");
    expect_close(c.dweight, sum_of(numeric_gradient(weight, loss), dweight_before), kFp32GradientTolerance, "dweight");
    expect_close(c.dbias, sum_of(numeric_gradient(bias, loss), dbias_before), kFp32GradientTolerance, "dbias");
  }
}

TEST_P(NormTest, RmsNormBackwardIsTheDerivativeAndAddsIntoTheWeight) {
  for (const std::int64_t columns : {37, 131}) {
    const BackwardCase c(dtype(), kRows, columns, false);
    const Values dweight_before = c.dweight.values();

    rmsnorm_backward(stream_, c.rmsnorm());

    Values x = c.sum.values(), weight = c.weight.values();
    const Values dy = c.dy.values();
    const auto loss = [&] { return dot(reference(x, weight, {}).y, dy); };
    expect_close(c.dx, sum_of(numeric_gradient(x, loss), c.dsum.values()), gradient_tolerance(dtype()), "dx");
    expect_close(c.dweight, sum_of(numeric_gradient(weight, loss), dweight_before), kFp32GradientTolerance, "dweight");
  }
}

TEST_P(NormTest, BackwardWithoutDsumLeavesItOut) {
  BackwardCase c(dtype(), kRows, 37, true), zero(dtype(), kRows, 37, true);
  zero.dsum.set(filled(kRows * 37, 0.0));
  LayerNormBackward without = c.layernorm();
  without.dsum = {};

  layernorm_backward(stream_, without);
  layernorm_backward(stream_, zero.layernorm());

  EXPECT_EQ(c.dx.values(), zero.dx.values());
}

TEST_P(NormTest, AliasesGiveTheSameBits) {
  const BackwardCase apart(dtype(), kRows, 37, true), together(dtype(), kRows, 37, true);
  LayerNormBackward in_place = together.layernorm();
  in_place.dx = together.dsum.view();
  layernorm_backward(stream_, apart.layernorm());
  layernorm_backward(stream_, in_place);
  EXPECT_EQ(together.dsum.values(), apart.dx.values());

  const Matrix x = random_matrix(kRows, 37, dtype(), 1), residual = random_matrix(kRows, 37, dtype(), 2);
  const Matrix weight = random_matrix(1, 37, dtype(), 3), sum(kRows, 37, dtype()), y(kRows, 37, dtype());
  const Matrix rstd(1, kRows, DType::kF32), other = random_matrix(kRows, 37, dtype(), 2);
  RmsNormForward args{.x = x.view(),
                      .residual = residual.view(),
                      .weight = weight.view(),
                      .epsilon = kEpsilon,
                      .sum = sum.view(),
                      .y = y.view(),
                      .rstd = rstd.view()};
  rmsnorm_forward(stream_, args);
  const Values expected = y.values();
  args.sum = residual.view();
  rmsnorm_forward(stream_, args);
  EXPECT_EQ(residual.values(), sum.values());
  EXPECT_EQ(y.values(), expected);
  args.residual = other.view();
  args.sum = x.view();
  rmsnorm_forward(stream_, args);
  EXPECT_EQ(x.values(), sum.values());
  EXPECT_EQ(y.values(), expected);
}

TEST_P(NormTest, RowsDoNotDependOnTheThreadsAndParametersAreRepeatable) {
  constexpr std::int64_t kMany = 601;  // enough rows for three threads
  Stream three(backend(), 3);
  const BackwardCase one(dtype(), kMany, 37, true), first(dtype(), kMany, 37, true), second(dtype(), kMany, 37, true);
  layernorm_backward(stream_, one.layernorm());
  layernorm_backward(three, first.layernorm());
  layernorm_backward(three, second.layernorm());
  EXPECT_EQ(one.dx.bytes(), first.dx.bytes());
  EXPECT_EQ(first.dweight.bytes(), second.dweight.bytes());
  EXPECT_EQ(first.dbias.bytes(), second.dbias.bytes());
  constexpr Tolerance kOrder{2e-5, 2e-5};  // sums of 601 terms of order 1 in another order
  expect_close(first.dweight, one.dweight.values(), kOrder, "dweight");
  expect_close(first.dbias, one.dbias.values(), kOrder, "dbias");

  const Matrix y1(kMany, 37, dtype()), y3(kMany, 37, dtype()), mean(1, kMany, DType::kF32), rstd(1, kMany, DType::kF32);
  LayerNormForward args{.x = one.sum.view(),
                        .residual = {},
                        .weight = one.weight.view(),
                        .bias = one.bias.view(),
                        .epsilon = kEpsilon,
                        .sum = {},
                        .y = y1.view(),
                        .mean = mean.view(),
                        .rstd = rstd.view()};
  layernorm_forward(stream_, args);
  args.y = y3.view();
  layernorm_forward(three, args);
  EXPECT_EQ(y1.bytes(), y3.bytes());
}

TEST_P(NormTest, AllocatesNothingInSteadyState) {
  Stream three(backend(), 3);
  const BackwardCase c(dtype(), 601, 37, true);
  expect_no_allocation(three, [&] { layernorm_backward(three, c.layernorm()); });
}

TEST(Norm, RefusesWrongShapesAndDtypes) {
  Stream stream(cpu_backend(), 1);
  const BackwardCase c(DType::kF32, 3, 5, true);
  const Matrix narrow(3, 4, DType::kF32), half(3, 5, DType::kBF16), rstd(1, 3, DType::kF32);

  LayerNormBackward backward = c.layernorm();
  backward.dx = narrow.view();
  EXPECT_THAT(refusal_of([&] { layernorm_backward(stream, backward); }),
              HasSubstr("norm backward: dx: expected fp32 [3, 5]"));
  backward = c.layernorm();
  backward.sum = half.view();
  EXPECT_THAT(refusal_of([&] { layernorm_backward(stream, backward); }),
              HasSubstr("sum: expected fp32 [3, 5], found bf16"));
  backward = c.layernorm();
  backward.dweight = half.view();
  EXPECT_THAT(refusal_of([&] { layernorm_backward(stream, backward); }), HasSubstr("dweight"));
  backward = c.layernorm();
  backward.dbias = {};
  EXPECT_THAT(refusal_of([&] { layernorm_backward(stream, backward); }),
              HasSubstr("dbias: expected fp32 of 5 dense elements, but"));

  RmsNormForward forward{.x = c.sum.view(),
                         .residual = c.dy.view(),
                         .weight = c.weight.view(),
                         .epsilon = kEpsilon,
                         .sum = {},
                         .y = c.dx.view(),
                         .rstd = rstd.view()};
  EXPECT_THAT(refusal_of([&] { rmsnorm_forward(stream, forward); }), HasSubstr("sum: expected"));
  forward.residual = {};
  forward.sum = c.dsum.view();
  EXPECT_THAT(refusal_of([&] { rmsnorm_forward(stream, forward); }), HasSubstr("together with a residual"));
  forward.sum = {};
  forward.x.dtype = DType::kI32;
  EXPECT_THAT(refusal_of([&] { rmsnorm_forward(stream, forward); }),
              HasSubstr("expected fp32, bf16 or fp16, found i32"));
}

}  // namespace
}  // namespace convoy::ops::test
