// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/classifier.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/unit/ops/op_test_support.h"

namespace convoy::ops::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kRows = 13;
constexpr std::int64_t kPadding = 3;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class ClassifierTest : public OpTest {};  // the dtype is that of dlogits
INSTANTIATE_TEST_SUITE_P(All, ClassifierTest, testing::ValuesIn(op_cases()), name_of_case);

// The three calls of one rank, or of several that hold `shards` of the columns and combine as the header says.
struct Pass {
  Pass(std::int64_t rows, std::int64_t columns, DType dtype, std::vector<std::int32_t> ids)
      : logits(rows, columns, DType::kF32, random_values(rows * columns, 1, 3.0), kPadding),
        targets(integers(ids)),
        maximum(1, rows, DType::kF32),
        sum(1, rows, DType::kF32),
        target_logit(1, rows, DType::kF32),
        dlogits(rows, columns, dtype, filled(rows * columns, kNan), kPadding) {}

  void forward(Stream& stream) const {
    classifier_maximum(stream, {.logits = logits.view(), .maximum = maximum.view()});
    classifier_sum(stream, {.logits = logits.view(),
                            .maximum = maximum.view(),
                            .targets = targets.view(),
                            .first = 0,
                            .sum = sum.view(),
                            .target_logit = target_logit.view()});
  }
  ClassifierBackward backward(float scale) const {
    return {.logits = logits.view(),
            .maximum = maximum.view(),
            .sum = sum.view(),
            .targets = targets.view(),
            .first = 0,
            .scale = scale,
            .dlogits = dlogits.view()};
  }
  Values losses() const {
    Values result = maximum.values();
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += std::log(sum.values()[i]) - target_logit.values()[i];
    return result;
  }
  Matrix logits, targets, maximum, sum, target_logit, dlogits;
};

double loss_of_row(const Values& logits, std::size_t begin, std::size_t columns, std::int32_t target) {
  double sum = 0.0;
  for (std::size_t c = begin; c < begin + columns; ++c) sum += std::exp(logits[c]);
  return std::log(sum) - logits[begin + static_cast<std::size_t>(target)];
}

std::vector<std::int32_t> some_targets(std::int64_t rows, std::int64_t columns) {
  std::vector<std::int32_t> ids;
  for (std::int64_t row = 0; row < rows; ++row)
    ids.push_back(static_cast<std::int32_t>((row * row + 5 * row) % columns));
  ids[0] = 0;
  ids[1] = static_cast<std::int32_t>(columns - 1);
  return ids;
}

TEST_P(ClassifierTest, HandValues) {
  Pass pass(1, 4, dtype(), {2});
  pass.logits.set({5.0, 5.0, 5.0, 5.0});
  pass.forward(stream_);
  classifier_backward(stream_, pass.backward(2.0f));
  EXPECT_EQ(pass.maximum.values(), Values{5.0});
  EXPECT_EQ(pass.sum.values(), Values{4.0});
  EXPECT_EQ(pass.target_logit.values(), Values{5.0});
  EXPECT_EQ(pass.dlogits.values(), (Values{0.5, 0.5, -1.5, 0.5}));
}

TEST_P(ClassifierTest, LossAgreesWithDoubleAndBackwardIsItsDerivative) {
  for (const std::int64_t columns : {37, 131}) {
    const std::vector<std::int32_t> ids = some_targets(kRows, columns);
    const Pass pass(kRows, columns, dtype(), ids);

    pass.forward(stream_);
    classifier_backward(stream_, pass.backward(0.25f));

    Values logits = pass.logits.values(), expected_losses, expected_gradient;
    const auto width = static_cast<std::size_t>(columns);
    for (std::size_t row = 0; row < ids.size(); ++row) {
      expected_losses.push_back(loss_of_row(logits, row * width, width, ids[row]));
      Values own(logits.begin() + static_cast<std::ptrdiff_t>(row * width),
                 logits.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
      for (const double g : numeric_gradient(own, [&] { return loss_of_row(own, 0, width, ids[row]); })) {
        expected_gradient.push_back(0.25 * g);
      }
    }
    expect_close(Matrix(1, kRows, DType::kF32, pass.losses()), expected_losses, kFp32Tolerance, "loss");
    expect_close(pass.dlogits, expected_gradient, tolerance_of(dtype()), "dlogits");
  }
}

TEST_P(ClassifierTest, ManyColumnsLoseNoDigits) {
  constexpr std::int64_t kColumns = 50'257;
  constexpr Tolerance kSum{3e-7, 0.0};  // sums in pieces: a few roundings of 2^-24, not fifty thousand
  const Pass pass(2, kColumns, dtype(), {7, 50'256});
  pass.forward(stream_);
  Values expected = filled(2, 0.0);
  const Values logits = pass.logits.values(), maximum = pass.maximum.values();
  for (std::size_t i = 0; i < logits.size(); ++i) expected[i / kColumns] += std::exp(logits[i] - maximum[i / kColumns]);
  expect_close(pass.sum, expected, kSum, "sum");
  EXPECT_EQ(maximum[0], *std::max_element(logits.begin(), logits.begin() + kColumns));
  EXPECT_EQ(maximum[1], *std::max_element(logits.begin() + kColumns, logits.end()));
}

TEST_P(ClassifierTest, IgnoredRowsHaveNoTargetLogitAndNoGradient) {
  const Pass pass(3, 37, dtype(), {5, kIgnoredTarget, 6});
  pass.forward(stream_);
  classifier_backward(stream_, pass.backward(1.0f));
  EXPECT_EQ(pass.target_logit.values()[1], 0.0);
  const Values gradient = pass.dlogits.values();
  for (std::size_t i = 0; i < gradient.size(); ++i) EXPECT_EQ(gradient[i] == 0.0, i / 37 == 1) << i;
}

TEST_P(ClassifierTest, ShardsTogetherEqualTheWhole) {
  constexpr std::int64_t kColumns = 131, kCut = 60;
  const Pass whole(kRows, kColumns, dtype(), some_targets(kRows, kColumns));
  whole.forward(stream_);
  classifier_backward(stream_, whole.backward(1.0f));

  Values sum = filled(kRows, 0.0), target = sum;
  const Matrix part_sum(1, kRows, DType::kF32), part_target(1, kRows, DType::kF32);
  const Values gradient = whole.dlogits.values();
  for (const auto& [begin, end] : {std::pair{std::int64_t{0}, kCut}, std::pair{kCut, kColumns}}) {
    const Matrix dlogits(kRows, end - begin, dtype(), kColumns);  // beside it: room to catch targets of the other shard
    const View logits = tensor::columns_of(View(whole.logits.view()), begin, end);
    classifier_sum(stream_, {.logits = logits,
                             .maximum = whole.maximum.view(),
                             .targets = whole.targets.view(),
                             .first = begin,
                             .sum = part_sum.view(),
                             .target_logit = part_target.view()});
    classifier_backward(stream_, {.logits = logits,
                                  .maximum = whole.maximum.view(),
                                  .sum = whole.sum.view(),
                                  .targets = whole.targets.view(),
                                  .first = begin,
                                  .scale = 1.0f,
                                  .dlogits = dlogits.view()});
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += part_sum.values()[i];
      target[i] += part_target.values()[i];
    }
    Values expected;
    for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
      if (i % kColumns >= begin && i % kColumns < end) expected.push_back(gradient[static_cast<std::size_t>(i)]);
    }
    expect_close(dlogits, expected, {0.0, 0.0}, "dlogits");
  }
  expect_close(whole.sum, sum, kFp32Tolerance, "sum");
  EXPECT_EQ(whole.target_logit.values(), target);
}

TEST_P(ClassifierTest, LargeLogitsNeitherOverflowNorLoseTheMaximum) {
  Pass pass(2, 3, dtype(), {0, 1});
  pass.logits.set({1000.0, 999.0, -1000.0, -2000.0, -2000.0, -2000.0});
  pass.forward(stream_);
  EXPECT_EQ(pass.maximum.values(), (Values{1000.0, -2000.0}));
  expect_close(pass.sum, {1.0 + std::exp(-1.0), 3.0}, kFp32Tolerance, "sum");
}

TEST_P(ClassifierTest, ALogitThatIsNotANumberSpoilsItsRowAndNoOther) {
  for (const double bad : {kNan, kInfinity}) {
    Pass pass(2, 37, dtype(), {0, 1});
    for (const std::size_t place : {std::size_t{0}, std::size_t{33}, std::size_t{36}}) {
      Values logits = random_values(74, 2);
      logits[place] = bad;
      pass.logits.set(logits);
      pass.forward(stream_);
      EXPECT_TRUE(std::isnan(pass.sum.values()[0])) << bad << " at " << place;
      EXPECT_TRUE(std::isfinite(pass.sum.values()[1])) << bad << " at " << place;
    }
  }
}

TEST(Classifier, MinusInfinityTakesNoPart) {
  Stream stream(cpu_backend(), 1);
  Pass pass(1, 3, DType::kF32, {1});
  pass.logits.set({-kInfinity, 2.0, 2.0});
  pass.forward(stream);
  classifier_backward(stream, pass.backward(1.0f));
  EXPECT_EQ(pass.sum.values(), Values{2.0});
  EXPECT_EQ(pass.dlogits.values(), (Values{0.0, -0.5, 0.5}));
}

TEST(Classifier, GradientMayTakeThePlaceOfTheLogits) {
  Stream stream(cpu_backend(), 1);
  const Pass pass(kRows, 131, DType::kF32, some_targets(kRows, 131));
  pass.forward(stream);
  ClassifierBackward args = pass.backward(1.0f);
  classifier_backward(stream, args);
  args.dlogits = pass.logits.view();
  classifier_backward(stream, args);
  EXPECT_EQ(pass.logits.values(), pass.dlogits.values());
}

TEST_P(ClassifierTest, DoesNotDependOnTheThreadsAndAllocatesNothing) {
  const Pass one(kRows, 131, dtype(), some_targets(kRows, 131)), other(kRows, 131, dtype(), some_targets(kRows, 131));
  Stream three(backend(), 3);
  one.forward(stream_);
  classifier_backward(stream_, one.backward(1.0f));
  expect_no_allocation(three, [&] {
    other.forward(three);
    classifier_backward(three, other.backward(1.0f));
  });
  EXPECT_EQ(one.sum.bytes(), other.sum.bytes());
  EXPECT_EQ(one.dlogits.bytes(), other.dlogits.bytes());
}

TEST(Classifier, RefusesWrongShapesAndDtypes) {
  Stream stream(cpu_backend(), 1);
  const Pass pass(3, 5, DType::kF32, {0, 1, 2});
  const Matrix half(3, 5, DType::kBF16), two(1, 2, DType::kF32);
  EXPECT_THAT(refusal_of([&] { classifier_maximum(stream, {.logits = half.view(), .maximum = pass.maximum.view()}); }),
              HasSubstr("classifier_maximum: logits: expected fp32 [3, 5], found bf16"));
  EXPECT_THAT(refusal_of([&] { classifier_maximum(stream, {.logits = pass.logits.view(), .maximum = two.view()}); }),
              HasSubstr("logits: expected fp32 [2, 5]"));
  EXPECT_THAT(refusal_of([&] {
                classifier_sum(stream, {.logits = pass.logits.view(),
                                        .maximum = pass.maximum.view(),
                                        .targets = pass.sum.view(),
                                        .first = 0,
                                        .sum = pass.sum.view(),
                                        .target_logit = pass.target_logit.view()});
              }),
              HasSubstr("targets: expected i32 of 3"));
  ClassifierBackward args = pass.backward(1.0f);
  args.dlogits.shape = {3, 4};
  EXPECT_THAT(refusal_of([&] { classifier_backward(stream, args); }), HasSubstr("logits: expected fp32 [3, 4]"));
  args = pass.backward(1.0f);
  args.dlogits = {pass.logits.view().data, DType::kBF16, {3, 5}, 0};
  EXPECT_THAT(refusal_of([&] { classifier_backward(stream, args); }), HasSubstr("only fp32 dlogits"));
}

}  // namespace
}  // namespace convoy::ops::test
