// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/activation.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/unit/ops/op_test_support.h"

namespace convoy::ops::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kRows = 13;
constexpr std::int64_t kPadding = 3;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class ActivationTest : public OpTest {};
INSTANTIATE_TEST_SUITE_P(All, ActivationTest, testing::ValuesIn(op_cases()), name_of_case);

double gelu(double x) { return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x))); }

// Rows of [gate, up], `columns` each.
Values swiglu(const Values& gate_up, std::size_t columns) {
  Values y;
  for (std::size_t begin = 0; begin < gate_up.size(); begin += 2 * columns) {
    for (std::size_t c = begin; c < begin + columns; ++c) {
      y.push_back(gate_up[c] / (1.0 + std::exp(-gate_up[c])) * gate_up[c + columns]);
    }
  }
  return y;
}

TEST_P(ActivationTest, GeluForwardOfHandValues) {
  // gelu(0) = 0; far from 0 the function is the identity or zero.
  const Matrix x(1, 3, dtype(), Values{0.0, 20.0, -20.0}), y(1, 3, dtype());
  gelu_forward(stream_, {.x = x.view(), .y = y.view()});
  EXPECT_EQ(y.values(), (Values{0.0, 20.0, 0.0}));
}

TEST_P(ActivationTest, GeluForwardAgreesWithDoubleAndMayBeInPlace) {
  for (const std::int64_t columns : {37, 131}) {
    const Matrix x = random_matrix(kRows, columns, dtype(), 1, kPadding), y(kRows, columns, dtype(), kPadding);
    gelu_forward(stream_, {.x = x.view(), .y = y.view()});
    Values expected;
    for (const double value : x.values()) expected.push_back(gelu(value));
    expect_close(y, expected, tolerance_of(dtype()), "y");
    EXPECT_TRUE(y.padding_untouched());
    gelu_forward(stream_, {.x = x.view(), .y = x.view()});
    EXPECT_EQ(x.values(), y.values());
  }
}

TEST_P(ActivationTest, GeluBackwardOfHandValues) {
  // gelu'(0) = 1/2; far from 0 the function is the identity or zero.
  const Matrix x(1, 3, dtype(), Values{0.0, 20.0, -20.0}), dy(1, 3, dtype(), Values{3.0, 5.0, 7.0}), dx(1, 3, dtype());
  gelu_backward(stream_, {.x = x.view(), .dy = dy.view(), .dx = dx.view()});
  EXPECT_EQ(dx.values(), (Values{1.5, 5.0, 0.0}));
}

TEST_P(ActivationTest, GeluBackwardIsTheDerivative) {
  for (const std::int64_t columns : {37, 131}) {
    const Matrix x = random_matrix(kRows, columns, dtype(), 1, kPadding),
                 dy = random_matrix(kRows, columns, dtype(), 2, 1);
    const Matrix dx(kRows, columns, dtype(), filled(kRows * columns, kNan), kPadding);

    gelu_backward(stream_, {.x = x.view(), .dy = dy.view(), .dx = dx.view()});

    Values at = x.values();
    Values expected = dy.values();
    for (std::size_t i = 0; i < at.size(); ++i) {
      Values one{at[i]};
      expected[i] *= numeric_gradient(one, [&] { return gelu(one[0]); })[0];
    }
    expect_close(dx, expected, tolerance_of(dtype()), "dx");
  }
}

TEST_P(ActivationTest, SwigluForwardOfHandValues) {
  // silu(0) = 0, silu(40) = 40 to rounding.
  const Matrix gate_up(1, 4, dtype(), Values{0.0, 40.0, 2.0, 0.5}), y(1, 2, dtype());
  swiglu_forward(stream_, {.gate_up = gate_up.view(), .y = y.view()});
  EXPECT_EQ(y.values(), (Values{0.0, 20.0}));
}

TEST_P(ActivationTest, SwigluAgreesWithDoubleAndBackwardIsItsDerivative) {
  for (const std::int64_t columns : {37, 131}) {
    const Matrix gate_up = random_matrix(kRows, 2 * columns, dtype(), 3, kPadding),
                 dy = random_matrix(kRows, columns, dtype(), 4, 1);
    const Matrix y(kRows, columns, dtype(), kPadding);
    const Matrix dgate_up(kRows, 2 * columns, dtype(), filled(2 * kRows * columns, kNan), kPadding);

    swiglu_forward(stream_, {.gate_up = gate_up.view(), .y = y.view()});
    swiglu_backward(stream_, {.gate_up = gate_up.view(), .dy = dy.view(), .dgate_up = dgate_up.view()});

    Values x = gate_up.values();
    const auto width = static_cast<std::size_t>(columns);
    expect_close(y, swiglu(x, width), tolerance_of(dtype()), "y");
    const Values gradient = dy.values();
    expect_close(dgate_up, numeric_gradient(x, [&] { return dot(swiglu(x, width), gradient); }), tolerance_of(dtype()),
                 "dgate_up");
  }
}

TEST_P(ActivationTest, BackwardInPlaceGivesTheSameBits) {
  const Matrix x = random_matrix(kRows, 74, dtype(), 5), dy = random_matrix(kRows, 74, dtype(), 6),
               dx(kRows, 74, dtype());
  gelu_backward(stream_, {.x = x.view(), .dy = dy.view(), .dx = dx.view()});
  gelu_backward(stream_, {.x = x.view(), .dy = dy.view(), .dx = dy.view()});
  EXPECT_EQ(dy.values(), dx.values());

  const Matrix upper = random_matrix(kRows, 37, dtype(), 7);
  swiglu_backward(stream_, {.gate_up = x.view(), .dy = upper.view(), .dgate_up = dx.view()});
  swiglu_backward(stream_, {.gate_up = x.view(), .dy = upper.view(), .dgate_up = x.view()});
  EXPECT_EQ(x.values(), dx.values());
}

TEST_P(ActivationTest, ExtremeGatesStayFinite) {
  const Matrix gate_up(1, 8, dtype(), Values{-1e4, 1e4, -300.0, 90.0, 1.0, 1.0, 1.0, 1.0}),
      dy(1, 4, dtype(), filled(4, 1.0));
  const Matrix y(1, 4, dtype()), dgate_up(1, 8, dtype());
  swiglu_forward(stream_, {.gate_up = gate_up.view(), .y = y.view()});
  swiglu_backward(stream_, {.gate_up = gate_up.view(), .dy = dy.view(), .dgate_up = dgate_up.view()});
  const double high = gate_up.values()[1];
  EXPECT_EQ(y.values(), (Values{0.0, high, 0.0, 90.0}));
  EXPECT_EQ(dgate_up.values(), (Values{0.0, 1.0, 0.0, 1.0, 0.0, high, 0.0, 90.0}));
}

TEST_P(ActivationTest, DoesNotDependOnTheThreadsAndAllocatesNothing) {
  constexpr std::int64_t kMany = 601;
  Stream three(backend(), 3);
  const Matrix gate_up = random_matrix(kMany, 74, dtype(), 8), dy = random_matrix(kMany, 37, dtype(), 9);
  const Matrix one(kMany, 74, dtype()), other(kMany, 74, dtype());
  swiglu_backward(stream_, {.gate_up = gate_up.view(), .dy = dy.view(), .dgate_up = one.view()});
  expect_no_allocation(
      three, [&] { swiglu_backward(three, {.gate_up = gate_up.view(), .dy = dy.view(), .dgate_up = other.view()}); });
  EXPECT_EQ(one.bytes(), other.bytes());
}

TEST(ActivationShapes, AreChecked) {
  Stream stream(cpu_backend(), 1);
  const Matrix wide(3, 10, DType::kF32), narrow(3, 5, DType::kF32), half(3, 5, DType::kBF16);
  EXPECT_THAT(refusal_of([&] { gelu_backward(stream, {.x = wide.view(), .dy = narrow.view(), .dx = wide.view()}); }),
              HasSubstr("gelu_backward: dy: expected fp32 [3, 10], found fp32 [3, 5]"));
  EXPECT_THAT(refusal_of([&] { gelu_forward(stream, {.x = wide.view(), .y = narrow.view()}); }),
              HasSubstr("gelu_forward: x: expected fp32 [3, 5], found fp32 [3, 10]"));
  EXPECT_THAT(refusal_of([&] { swiglu_forward(stream, {.gate_up = narrow.view(), .y = narrow.view()}); }),
              HasSubstr("gate_up: expected fp32 [3, 10]"));
  EXPECT_THAT(refusal_of([&] { swiglu_forward(stream, {.gate_up = wide.view(), .y = half.view()}); }),
              HasSubstr("gate_up: expected bf16 [3, 10]"));
  EXPECT_THAT(
      refusal_of([&] { swiglu_backward(stream, {.gate_up = wide.view(), .dy = narrow.view(), .dgate_up = {}}); }),
      HasSubstr("dgate_up: expected fp32 [3, 10], but no tensor was given"));
}

}  // namespace
}  // namespace convoy::ops::test
