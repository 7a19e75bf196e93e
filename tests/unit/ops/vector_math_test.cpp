// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/unit/ops/op_test_support.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/ops/vector_math_test.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libcore/ops/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::ops::test::HWY_NAMESPACE {
namespace kernels = convoy::ops::cpu::HWY_NAMESPACE;

// What a kernel does to a row, for every function under test.
void exp_row(const float* x, float* y, std::int64_t count) {
  kernels::over_columns(0, count, [&](std::int64_t i, auto part) HWY_ATTR {
    kernels::store(kernels::exp(kernels::load(x + i, part)), y + i, part);
  });
}
void sigmoid_row(const float* x, float* y, std::int64_t count) {
  kernels::over_columns(0, count, [&](std::int64_t i, auto part) HWY_ATTR {
    kernels::store(kernels::sigmoid(kernels::load(x + i, part)), y + i, part);
  });
}
void tanh_row(const float* x, float* y, std::int64_t count) {
  kernels::over_columns(0, count, [&](std::int64_t i, auto part) HWY_ATTR {
    kernels::store(kernels::tanh(kernels::load(x + i, part)), y + i, part);
  });
}
void gelu_row(const float* x, float* y, std::int64_t count) {
  kernels::over_columns(0, count, [&](std::int64_t i, auto part) HWY_ATTR {
    kernels::store(kernels::gelu(kernels::load(x + i, part)), y + i, part);
  });
}
float slotted_sum(const float* x, std::int64_t begin, std::int64_t end) {
  kernels::Accumulators sums = kernels::accumulators(kernels::zeros());
  kernels::over_columns_in_slots(begin, end, [&](std::int64_t i, auto part, auto slot) HWY_ATTR {
    auto& sum = sums.slots[decltype(slot)::value];
    sum = kernels::hn::Add(sum, kernels::load(x + i, part));
  });
  return kernels::sum_of(sums);
}

}  // namespace convoy::ops::test::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::ops::test {
HWY_EXPORT(exp_row);
HWY_EXPORT(sigmoid_row);
HWY_EXPORT(tanh_row);
HWY_EXPORT(gelu_row);
HWY_EXPORT(slotted_sum);

namespace {

// Half a unit for the last rounding, half for the polynomial's last step, little for the reduction.
constexpr double kExpUlps = 1.1;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Runs the test's body with the dispatched kernels, then with the baseline's.
class VectorMath : public testing::TestWithParam<bool> {
 protected:
  template <class Call>
  void run(Call&& call) {
    if (GetParam()) {
      with_baseline_kernels(call);
    } else {
      call();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(All, VectorMath, testing::Bool(),
                         [](const auto& test) { return test.param ? "Baseline" : "Dispatched"; });

std::vector<float> sweep(float first, float last, int count) {
  std::vector<float> x;
  for (int i = 0; i < count; ++i)
    x.push_back(first + (last - first) * (static_cast<float>(i) / static_cast<float>(count - 1)));
  return x;
}

// Distance in units in the last place of the correctly rounded result.
double ulps(float got, double expected) {
  const float nearest = static_cast<float>(expected);
  return std::abs(static_cast<double>(got) - expected) /
         static_cast<double>(std::nextafter(nearest, kInfinity) - nearest);
}

TEST_P(VectorMath, ExpIsRightToAboutAUnitInTheLastPlace) {
  for (const auto& x : {sweep(-86.6f, 88.72f, 400'003), sweep(-1.0f, 1.0f, 100'003)}) {
    std::vector<float> y(x.size());
    run([&] { HWY_DYNAMIC_DISPATCH(exp_row)(x.data(), y.data(), static_cast<std::int64_t>(x.size())); });
    double worst = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps(y[i], std::exp(static_cast<double>(x[i]))));
    EXPECT_LE(worst, kExpUlps);
  }
}

TEST_P(VectorMath, ExpAtTheEdges) {
  const std::vector<float> x{0.0f, -0.0f, -kInfinity, kInfinity, -1e30f, 1e30f, 88.8f, -88.0f, std::nanf("")};
  std::vector<float> y(x.size());
  run([&] { HWY_DYNAMIC_DISPATCH(exp_row)(x.data(), y.data(), static_cast<std::int64_t>(x.size())); });
  EXPECT_THAT(y, testing::ElementsAre(1.0f, 1.0f, 0.0f, kInfinity, 0.0f, kInfinity, kInfinity, 0.0f, testing::IsNan()));
}

TEST_P(VectorMath, SigmoidAndTanhAndGeluAgreeWithDouble) {
  constexpr double kRounding = 4e-7;  // three or four operations of 2^-24 relative, on results of at most 1
  const std::vector<float> x = sweep(-20.0f, 20.0f, 100'003);
  std::vector<float> s(x.size()), t(x.size()), g(x.size());
  const auto count = static_cast<std::int64_t>(x.size());
  run([&] {
    HWY_DYNAMIC_DISPATCH(sigmoid_row)(x.data(), s.data(), count);
    HWY_DYNAMIC_DISPATCH(tanh_row)(x.data(), t.data(), count);
    HWY_DYNAMIC_DISPATCH(gelu_row)(x.data(), g.data(), count);
  });
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = static_cast<double>(x[i]);
    ASSERT_NEAR(static_cast<double>(s[i]), 1.0 / (1.0 + std::exp(-v)), kRounding) << v;
    ASSERT_NEAR(static_cast<double>(t[i]), std::tanh(v), kRounding) << v;
    const double inner = std::sqrt(2.0 / M_PI) * (v + 0.044715 * v * v * v);
    ASSERT_NEAR(static_cast<double>(g[i]), 0.5 * v * (1.0 + std::tanh(inner)), kRounding * std::max(1.0, std::abs(v)))
        << v;
  }
}

TEST_P(VectorMath, SigmoidSaturates) {
  const std::vector<float> x{-kInfinity, -200.0f, 200.0f, kInfinity};
  std::vector<float> y(x.size());
  run([&] { HWY_DYNAMIC_DISPATCH(sigmoid_row)(x.data(), y.data(), 4); });
  EXPECT_THAT(y, testing::ElementsAre(0.0f, 0.0f, 1.0f, 1.0f));
}

TEST_P(VectorMath, SlotsCoverEveryColumnOnce) {
  std::vector<float> x(200);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);  // sums below 2^24 are exact
  for (std::int64_t end = 0; end <= 200; ++end) {
    float sum = -1.0f;
    run([&] { sum = HWY_DYNAMIC_DISPATCH(slotted_sum)(x.data(), 0, end); });
    ASSERT_EQ(sum, static_cast<float>(end * (end + 1) / 2)) << end;
  }
}

}  // namespace
}  // namespace convoy::ops::test
#endif
