// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/optimizer.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>

#include "libcore/tensor/fp16.h"
#include "tests/unit/ops/op_test_support.h"

namespace convoy::ops::test {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class OptimizerTest : public OpTest {};
INSTANTIATE_TEST_SUITE_P(All, OptimizerTest, testing::ValuesIn(op_cases()), name_of_case);

struct State {
  explicit State(std::int64_t n)
      : gradient(random_matrix(1, n, DType::kF32, 1)),
        parameter(random_matrix(1, n, DType::kF32, 2)),
        m(1, n, DType::kF32, filled(n, 0.0)),
        v(1, n, DType::kF32, filled(n, 0.0)),
        rounded(1, n, DType::kBF16) {}
  Matrix gradient, parameter, m, v, rounded;

  AdamW update(int t, double beta1, double beta2) const {
    return {.gradient = gradient.view(),
            .parameter = parameter.view(),
            .m = m.view(),
            .v = v.view(),
            .rounded = rounded.view(),
            .gradient_scale = 0.5f,
            .rate = 0.01f,
            .beta1 = beta1,
            .beta2 = beta2,
            .epsilon = 1e-8f,
            .weight_decay = 0.1f,
            .correction1 = 1.0 - std::pow(beta1, t),
            .correction2 = 1.0 - std::pow(beta2, t)};
  }
};

TEST(Optimizer, AdamWOfHandValues) {
  Stream stream(cpu_backend(), 1);
  State s(2);
  s.gradient.set({4.0, -2.0});
  s.parameter.set({1.0, 2.0});
  AdamW args = s.update(1, 0.5, 0.75);  // g = 2, -1; m = 1, -0.5; v = 1, 0.25
  args.epsilon = 1.0f;
  args.rate = 0.125f;
  args.weight_decay = 0.5f;

  adamw(stream, args);

  EXPECT_EQ(s.m.values(), (Values{1.0, -0.5}));
  EXPECT_EQ(s.v.values(), (Values{1.0, 0.25}));
  // p - 0.125 (m / 0.5 / (sqrt(v / 0.25) + 1) + 0.5 p) = 1 - 0.125 (2 / 3 + 0.5), 2 - 0.125 (-1 / 2 + 1)
  expect_close(s.parameter, {1.0 - 0.125 * (2.0 / 3.0 + 0.5), 1.9375}, {1e-7, 0.0}, "parameter");
  EXPECT_EQ(s.rounded.values(), rounded(s.parameter.values(), DType::kBF16));
}

TEST_P(OptimizerTest, AdamWFollowsTheFormulaInDoubleOverManyUpdates) {
  constexpr std::int64_t kCount = 131;
  constexpr double kBeta1 = 0.9, kBeta2 = 0.999;
  State s(kCount);
  Values p = s.parameter.values(), m = filled(kCount, 0.0), v = m;
  for (int t = 1; t <= 20; ++t) {
    s.gradient.set(random_values(kCount, static_cast<std::uint32_t>(100 + t), std::pow(10.0, -(t % 7))));
    const Values gradient = s.gradient.values(), before = s.parameter.values();
    const AdamW args = s.update(t, kBeta1, kBeta2);
    adamw(stream_, args);
    Values step;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double g = 0.5 * gradient[i];
      m[i] = kBeta1 * m[i] + (1.0 - kBeta1) * g;
      v[i] = kBeta2 * v[i] + (1.0 - kBeta2) * g * g;
      const double m_hat = m[i] / (1.0 - std::pow(kBeta1, t)), v_hat = v[i] / (1.0 - std::pow(kBeta2, t));
      p[i] -= static_cast<double>(args.rate) * (m_hat / (std::sqrt(v_hat) + 1e-8) + 0.1 * p[i]);
    }
    // A step is at most about the rate, 0.01: its error is far below the rounding of p, 2^-24 a step.
    expect_close(s.parameter, p, {static_cast<double>(t) * 6e-8, 1e-8 * t}, "parameter");
    expect_close(s.m, m, {1e-6, 1e-7}, "m");
    expect_close(s.v, v, {2e-6, 0.0}, "v");
    EXPECT_EQ(s.rounded.values(), rounded(s.parameter.values(), DType::kBF16));
  }
}

TEST(Optimizer, AdamWFirstStepIsTheRateTimesTheSignForEveryBeta) {
  Stream stream(cpu_backend(), 1);
  constexpr std::int64_t kCount = 37;
  State s(kCount);
  s.parameter.set(filled(kCount, 0.0));
  AdamW args = s.update(1, 0.9, 0.999);
  args.weight_decay = 0.0f;
  args.epsilon = 0.0f;

  adamw(stream, args);

  Values expected;
  for (const double g : s.gradient.values()) expected.push_back(g > 0.0 ? -0.01 : 0.01);
  expect_close(s.parameter, expected, {1e-6, 0.0}, "parameter");  // 1 - beta2 in float would be 5e-5 off
}

TEST_P(OptimizerTest, AdamWLeavesNoDenormalMoments) {
  State s(37);
  s.gradient.set(filled(37, 0.0));
  s.m.set(filled(37, 1.2e-38));
  s.v.set(filled(37, 1.2e-38));
  adamw(stream_, s.update(5, 0.9, 0.95));
  EXPECT_EQ(s.m.values(), filled(37, 0.0));
  EXPECT_EQ(s.v.values(), filled(37, 0.0));
}

TEST_P(OptimizerTest, AdamWWithoutARoundedCopyGivesTheSameParameters) {
  const State with(131), without(131);
  adamw(stream_, with.update(1, 0.9, 0.95));
  AdamW args = without.update(1, 0.9, 0.95);
  args.rounded = {};
  adamw(stream_, args);
  EXPECT_EQ(with.parameter.values(), without.parameter.values());
}

TEST_P(OptimizerTest, AdamWDoesNotDependOnTheThreads) {
  constexpr std::int64_t kMany = 60'013;
  const State one(kMany), three(kMany);
  Stream team(backend(), 3);
  adamw(stream_, one.update(1, 0.9, 0.95));
  adamw(team, three.update(1, 0.9, 0.95));
  EXPECT_EQ(one.parameter.bytes(), three.parameter.bytes());
  EXPECT_EQ(one.m.bytes(), three.m.bytes());
  EXPECT_EQ(one.v.bytes(), three.v.bytes());
  EXPECT_EQ(one.rounded.bytes(), three.rounded.bytes());
}

double squares_of(Stream& stream, const View& x) {
  ExactSum sum;
  sum_of_squares(stream, x, sum);
  return sum.value();
}

TEST(Optimizer, SumOfSquaresOfHandValues) {
  Stream stream(cpu_backend(), 1);
  const Matrix x(1, 3, DType::kF32, Values{1.0, -2.0, 3.0});
  EXPECT_EQ(squares_of(stream, x.view()), 14.0);
}

TEST(Optimizer, SumOfSquaresHasTheSameBitsForAllThreadsAndInstructionSets) {
  constexpr std::int64_t kMany = 3 * 65'536 + 1'009;
  const Matrix x = random_matrix(1, kMany, DType::kF32, 3);
  Stream one(cpu_backend(), 1), three(cpu_backend(), 3), baseline(baseline_backend(), 1);
  const double sum = squares_of(one, x.view());
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum), std::bit_cast<std::uint64_t>(squares_of(three, x.view())));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum), std::bit_cast<std::uint64_t>(squares_of(baseline, x.view())));
  const Values values = x.values();
  EXPECT_NEAR(sum, dot(values, values), 1e-12 * sum);  // double sums in different orders
}

// As ZeRO cuts a gradient over ranks. All digits of the sums are compared: most of the last ones vanish in its value.
TEST(Optimizer, SumOfSquaresIsTheSameWhereverAMultipleOf64CutsIt) {
  constexpr std::int64_t kMany = 64 * 1'001 + 17;
  Values values = random_matrix(1, kMany, DType::kF32, 11).values();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= std::pow(1.37, static_cast<double>(i % 60) - 30.0);
  const Matrix x(1, kMany, DType::kF32, values);
  Stream stream(cpu_backend(), 2);
  ExactSum whole;
  sum_of_squares(stream, x.view(), whole);
  for (const std::int64_t cut : {std::int64_t{64}, std::int64_t{64} * 500, std::int64_t{64} * 1'001}) {
    ExactSum parts;
    sum_of_squares(stream, tensor::flat_part(x.view(), cut, kMany), parts);
    sum_of_squares(stream, tensor::flat_part(x.view(), 0, cut), parts);
    EXPECT_TRUE(std::ranges::equal(parts.words(), whole.words())) << cut;
  }
}

TEST(Optimizer, TheBaselineKernelsAreOtherKernels) {
  if (!dispatches_to_vectors())
    GTEST_SKIP() << "this processor has none of the vector units that kernels are compiled for";
  EXPECT_NE(cpu_backend().optimizer.adamw, baseline_backend().optimizer.adamw);
}

TEST_P(OptimizerTest, SumOfSquaresIsNotFiniteIfAnyValueIsNot) {
  for (const double bad : {kInfinity, -kInfinity, std::nan("")}) {
    Matrix x = random_matrix(1, 37, DType::kF32, 4);
    for (const std::size_t place : {std::size_t{0}, std::size_t{20}, std::size_t{36}}) {
      Values values = x.values();
      values[place] = bad;
      const Matrix poisoned(1, 37, DType::kF32, values);
      EXPECT_FALSE(std::isfinite(squares_of(stream_, poisoned.view()))) << bad << " at " << place;
    }
  }
}

TEST_P(OptimizerTest, CastRoundsToNearestEvenAndKeepsNonFiniteValues) {
  // 1 + 2^-8 lies half-way between 1 and 1 + 2^-7 (even: 1); 1 + 3 2^-8 between 1 + 2^-7 and 1 + 2^-6 (even: the
  // latter).
  const Values x{1.00390625, 1.01171875, -1.00390625, 1.004, 3.4e38, kInfinity, -kInfinity, 0.0, 1e-40};
  const Matrix wide(1, 9, DType::kF32, x), narrow(1, 9, DType::kBF16), back(1, 9, DType::kF32);

  cast(stream_, wide.view(), narrow.view());
  cast(stream_, narrow.view(), back.view());

  EXPECT_EQ(narrow.values(), (Values{1.0, 1.015625, -1.0, 1.0078125, kInfinity, kInfinity, -kInfinity, 0.0,
                                     static_cast<double>(tensor::to_float(tensor::to_bf16(1e-40f)))}));
  EXPECT_EQ(back.values(), narrow.values());
}

TEST_P(OptimizerTest, CastAgreesWithTheScalarConversionForEveryUpperHalf) {
  // Every sign, exponent and upper mantissa, with lower halves on both sides of every tie; NaNs included.
  constexpr std::int64_t kCount = 65'536 * 4;
  Matrix wide(1, kCount, DType::kF32), narrow(1, kCount, DType::kBF16);
  auto* x = wide.view().as<std::uint32_t>();
  constexpr std::uint32_t kLower[] = {0x0000u, 0x7fffu, 0x8000u, 0x8001u};
  for (std::uint32_t i = 0; i < kCount; ++i) x[i] = (i / 4 << 16) | kLower[i % 4];

  cast(stream_, wide.view(), narrow.view());

  for (std::int64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(narrow.view().as<tensor::Bf16>()[i].bits, tensor::to_bf16(wide.view().as<float>()[i]).bits) << x[i];
  }
}

TEST_P(OptimizerTest, CastAgreesWithTheScalarConversionsOfFp16) {
  // Every sign, exponent and mantissa of 10 bits, with what is below them on both sides of every tie.
  constexpr std::uint32_t kLower[] = {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u};
  constexpr std::int64_t kUpper = std::int64_t{1} << 19, kCount = kUpper * 5;
  Matrix wide(1, kCount, DType::kF32), narrow(1, kCount, DType::kF16), back(1, kCount, DType::kF32);
  auto* x = wide.view().as<std::uint32_t>();
  for (std::uint32_t i = 0; i < kCount; ++i) x[i] = (i / 5 << 13) | kLower[i % 5];

  cast(stream_, wide.view(), narrow.view());
  cast(stream_, narrow.view(), back.view());

  for (std::int64_t i = 0; i < kCount; ++i) {
    const tensor::Fp16 half = narrow.view().as<tensor::Fp16>()[i];
    ASSERT_EQ(half.bits, tensor::to_fp16(wide.view().as<float>()[i]).bits) << x[i];
    ASSERT_EQ(std::bit_cast<std::uint32_t>(back.view().as<float>()[i]), std::bit_cast<std::uint32_t>(to_float(half)));
  }
}

TEST_P(OptimizerTest, TheRoundedParameterMayBeFp16) {
  const Matrix gradient(1, 3, DType::kF32, {1.0, -1.0, 2.0}), parameter(1, 3, DType::kF32, {0.3, 70000.0, 1e-6});
  const Matrix m(1, 3, DType::kF32, filled(3, 0.0)), v(1, 3, DType::kF32, filled(3, 0.0)), half(1, 3, DType::kF16);
  adamw(stream_, {.gradient = gradient.view(),
                  .parameter = parameter.view(),
                  .m = m.view(),
                  .v = v.view(),
                  .rounded = half.view(),
                  .rate = 0.0f});
  EXPECT_EQ(half.values(), (Values{0.300048828125, kInfinity, 0x1.1p-20}));  // 17 x 2^-24 is the nearest to 1e-6
}

TEST_P(OptimizerTest, AddIsInTheDtypeOfTheSum) {
  for (const DType other : {DType::kF32, dtype()}) {
    const Matrix x = random_matrix(1, 131, other, 5), y = random_matrix(1, 131, dtype(), 6);
    Values expected = y.values();
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += x.values()[i];
    add(stream_, x.view(), y.view());
    expect_close(y, rounded(expected, dtype()), {dtype() == DType::kF32 ? 1e-7 : 4.2e-3, 0.0}, "y");
  }
}

TEST_P(OptimizerTest, ScaleAndFillZeroCoverEveryElement) {
  const Matrix x(1, 37, DType::kF32, filled(37, 3.0));
  scale(stream_, -0.5f, x.view());
  EXPECT_EQ(x.values(), filled(37, -1.5));
  const Matrix y = random_matrix(5, 37, dtype(), 7);
  fill_zero(stream_, y.view());
  EXPECT_EQ(y.values(), filled(5 * 37, 0.0));
}

TEST_P(OptimizerTest, AllocatesNothingInSteadyState) {
  const State s(60'013);
  Stream three(backend(), 3);
  expect_no_allocation(three, [&] {
    squares_of(three, s.gradient.view());
    adamw(three, s.update(1, 0.9, 0.95));
    cast(three, s.parameter.view(), s.rounded.view());
    fill_zero(three, s.gradient.view());
  });
}

TEST(Optimizer, RefusesWrongSizesAndDtypes) {
  Stream stream(cpu_backend(), 1);
  const State s(5);
  const Matrix shorter(1, 4, DType::kF32), gaps(2, 5, DType::kF32, 1);
  AdamW args = s.update(1, 0.9, 0.95);
  args.m = shorter.view();
  EXPECT_THAT(refusal_of([&] { adamw(stream, args); }), HasSubstr("adamw: m: expected fp32 of 5 dense elements"));
  args = s.update(1, 0.9, 0.95);
  args.gradient = s.rounded.view();
  EXPECT_THAT(refusal_of([&] { adamw(stream, args); }), HasSubstr("adamw: gradient: expected fp32"));
  args = s.update(0, 0.9, 0.95);
  EXPECT_THAT(refusal_of([&] { adamw(stream, args); }), HasSubstr("t from 1"));
  EXPECT_THAT(refusal_of([&] { squares_of(stream, gaps.view()); }), HasSubstr("dense"));
  EXPECT_THAT(refusal_of([&] { cast(stream, shorter.view(), s.rounded.view()); }), HasSubstr("cast: x: expected"));
  EXPECT_THAT(refusal_of([&] { add(stream, shorter.view(), s.m.view()); }), HasSubstr("add: x: expected"));
  EXPECT_THAT(refusal_of([&] { scale(stream, 2.0f, s.rounded.view()); }), HasSubstr("scale: x: expected fp32"));
}

}  // namespace
}  // namespace convoy::ops::test
