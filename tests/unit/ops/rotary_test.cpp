// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/rotary.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/ops/op_test_support.h"

namespace convoy::ops::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kPositions = 50;
constexpr std::int64_t kPadding = 3;

class RotaryTest : public OpTest {};
INSTANTIATE_TEST_SUITE_P(All, RotaryTest, testing::ValuesIn(op_cases()), name_of_case);

// Angles of position * 10000^(-2 i / D), as Llama's tables hold them.
struct Tables {
  explicit Tables(std::int64_t half) : cosine(kPositions, half, DType::kF32), sine(kPositions, half, DType::kF32) {
    Values c, s;
    for (std::int64_t position = 0; position < kPositions; ++position) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle =
            static_cast<double>(position) * std::pow(1e4, -static_cast<double>(i) / static_cast<double>(half));
        c.push_back(std::cos(angle));
        s.push_back(std::sin(angle));
      }
    }
    cosine.set(c);
    sine.set(s);
  }
  Matrix cosine, sine;
};

// As complex numbers: pair (i, i + D/2) of a head is multiplied by cos + i sin.
Values turned(const Values& heads, std::int64_t columns, std::int64_t head_size, const Tables& tables,
              const std::vector<std::int32_t>& positions) {
  Values result = heads;
  const std::int64_t half = head_size / 2;
  const Values cosine = tables.cosine.values(), sine = tables.sine.values();
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(heads.size()); ++i) {
    const std::int64_t within = i % columns % head_size;
    if (within >= half) continue;
    const auto angle = static_cast<std::size_t>(positions.at(static_cast<std::size_t>(i / columns)) * half + within);
    const auto lower = static_cast<std::size_t>(i), upper = static_cast<std::size_t>(i + half);
    result[lower] = heads[lower] * cosine[angle] - heads[upper] * sine[angle];
    result[upper] = heads[lower] * sine[angle] + heads[upper] * cosine[angle];
  }
  return result;
}

TEST_P(RotaryTest, AQuarterTurnSwapsThePairOfHalves) {
  const Matrix heads(1, 4, dtype(), Values{1.0, 2.0, 3.0, 4.0}), cosine(1, 2, DType::kF32, Values{0.0, 1.0});
  const Matrix sine(1, 2, DType::kF32, Values{1.0, 0.0}), positions = integers({0});
  Rotary args{.heads = heads.view(),
              .head_size = 4,
              .cosine = cosine.view(),
              .sine = sine.view(),
              .positions = positions.view()};
  rotary(stream_, args);
  EXPECT_EQ(heads.values(), (Values{-3.0, 2.0, 1.0, 4.0}));
  args.inverse = true;
  rotary(stream_, args);
  EXPECT_EQ(heads.values(), (Values{1.0, 2.0, 3.0, 4.0}));
}

TEST_P(RotaryTest, AgreesWithDoubleOnStridedRowsOfSeveralHeads) {
  for (const std::int64_t head_size : {6, 24, 74}) {
    const std::int64_t columns = 3 * head_size;
    const Tables tables(head_size / 2);
    const std::vector<std::int32_t> at{0, 1, 2, 49, 7, 7, 31, 0, 13, 48, 5, 6, 11};
    const Matrix heads = random_matrix(13, columns, dtype(), 1, kPadding), positions = integers(at);
    const Values before = heads.values();

    rotary(stream_, {.heads = heads.view(),
                     .head_size = static_cast<int>(head_size),
                     .cosine = tables.cosine.view(),
                     .sine = tables.sine.view(),
                     .positions = positions.view()});

    expect_close(heads, turned(before, columns, head_size, tables, at), tolerance_of(dtype()), "heads");
  }
}

TEST_P(RotaryTest, TheInverseIsTheGradient) {
  const std::int64_t columns = 2 * 10;
  const Tables tables(5);
  const std::vector<std::int32_t> at{3, 49, 17};
  const Matrix dy = random_matrix(3, columns, dtype(), 2), positions = integers(at);
  const Values before = dy.values();

  rotary(stream_, {.heads = dy.view(),
                   .head_size = 10,
                   .cosine = tables.cosine.view(),
                   .sine = tables.sine.view(),
                   .positions = positions.view(),
                   .inverse = true});

  Values x = random_values(3 * columns, 3);
  expect_close(dy, numeric_gradient(x, [&] { return dot(turned(x, columns, 10, tables, at), before); }),
               tolerance_of(dtype()), "dx");
}

TEST_P(RotaryTest, DoesNotDependOnTheThreadsAndAllocatesNothing) {
  const Tables tables(12);
  std::vector<std::int32_t> at;
  for (std::int32_t i = 0; i < 601; ++i) at.push_back(i * 7 % 50);
  const Matrix one = random_matrix(601, 48, dtype(), 4), other = random_matrix(601, 48, dtype(), 4),
               positions = integers(at);
  Stream three(backend(), 3);
  Rotary args{.heads = one.view(),
              .head_size = 24,
              .cosine = tables.cosine.view(),
              .sine = tables.sine.view(),
              .positions = positions.view()};
  rotary(stream_, args);
  args.heads = other.view();
  rotary(three, args);
  EXPECT_EQ(one.bytes(), other.bytes());
  expect_no_allocation(three, [&] { rotary(three, args); });
}

TEST(RotaryShapes, AreChecked) {
  Stream stream(cpu_backend(), 1);
  const Tables tables(2);
  const Matrix heads(2, 8, DType::kF32), inside = integers({0, 49}), outside = integers({0, 50}),
                                         below = integers({0, -1});
  const Rotary good{.heads = heads.view(),
                    .head_size = 4,
                    .cosine = tables.cosine.view(),
                    .sine = tables.sine.view(),
                    .positions = inside.view()};
  EXPECT_EQ(refusal_of([&] { rotary(stream, good); }), "");
  Rotary args = good;
  args.positions = outside.view();
  EXPECT_THAT(refusal_of([&] { rotary(stream, args); }), HasSubstr("every position lies in the table"));
  args.positions = below.view();
  EXPECT_THAT(refusal_of([&] { rotary(stream, args); }), HasSubstr("every position lies in the table"));
  args = good;
  args.head_size = 3;
  EXPECT_THAT(refusal_of([&] { rotary(stream, args); }), HasSubstr("even"));
  args.head_size = 6;
  EXPECT_THAT(refusal_of([&] { rotary(stream, args); }), HasSubstr("whole heads"));
  args.head_size = 8;
  EXPECT_THAT(refusal_of([&] { rotary(stream, args); }),
              HasSubstr("cosine: expected fp32 [50, 4], found fp32 [50, 2]"));
  args = good;
  args.positions = heads.view();
  EXPECT_THAT(refusal_of([&] { rotary(stream, args); }), HasSubstr("positions: expected i32 of 2"));
}

}  // namespace
}  // namespace convoy::ops::test
