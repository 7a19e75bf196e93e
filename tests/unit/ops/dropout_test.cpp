// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/dropout.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/ops/dropout_bits.h"
#include "tests/unit/ops/op_test_support.h"

namespace convoy::ops::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kKey = 0x0123456789abcdef;

class DropoutTest : public OpTest {};
INSTANTIATE_TEST_SUITE_P(All, DropoutTest, testing::ValuesIn(op_cases()), name_of_case);

// Every row of `rows` is all ones; which of them were dropped.
Values ones_dropped(Stream& stream, const Dropout& dropout, std::int64_t rows, std::int64_t columns,
                    std::int64_t first_slot = 0, std::int64_t first_row = 0) {
  const Matrix x(rows, columns, DType::kF32, filled(rows * columns, 1.0)), y(rows, columns, DType::kF32);
  dropout_rows(stream, {.dropout = dropout,
                        .sequence = 16,
                        .first_slot = first_slot,
                        .first_row = first_row,
                        .x = x.view(),
                        .y = y.view()});
  return y.values();
}

// Rows 5 to 17 of sequences of 7 tokens from slot 3 on: those of slots 3, 4 and 5.
TEST_P(DropoutTest, DropsTheElementsWhoseBitsAreBelowTheThresholdAndScalesTheOthers) {
  constexpr std::int64_t kRows = 13, kSequence = 7, kFirstSlot = 3, kFirstRow = 5, kPadding = 3;
  const Dropout dropout = make_dropout(0.3, kKey);
  for (const std::int64_t columns : {1, 37, 131, 192}) {
    const Matrix x = random_matrix(kRows, columns, dtype(), 1, kPadding), y(kRows, columns, dtype(), 1);
    dropout_rows(stream_, {.dropout = dropout,
                           .sequence = kSequence,
                           .first_slot = kFirstSlot,
                           .first_row = kFirstRow,
                           .x = x.view(),
                           .y = y.view()});
    Values expected = x.values();
    for (std::int64_t i = 0; i < kRows * columns; ++i) {
      const std::int64_t token = kFirstRow + i / columns;
      const bool keeps = keeps_channel(dropout, kFirstSlot + token / kSequence, token % kSequence, i % columns);
      expected[static_cast<std::size_t>(i)] *= keeps ? 1.0 / 0.7 : 0.0;
      ASSERT_EQ(y.values()[static_cast<std::size_t>(i)] != 0.0, keeps) << i;
    }
    expect_close(y, expected, tolerance_of(dtype()), "y");
    EXPECT_TRUE(y.padding_untouched());
  }
}

TEST_P(DropoutTest, InPlaceGivesTheSameBits) {
  const Matrix x = random_matrix(11, 75, dtype(), 2), y(11, 75, dtype());
  const DropoutRows args{.dropout = make_dropout(0.5, kKey), .sequence = 4, .x = x.view(), .y = y.view()};
  dropout_rows(stream_, args);
  dropout_rows(stream_, {.dropout = args.dropout, .sequence = 4, .x = x.view(), .y = x.view()});
  EXPECT_EQ(x.bytes(), y.bytes());
}

TEST_P(DropoutTest, DoesNotDependOnTheThreadsAndAllocatesNothing) {
  Stream three(backend(), 3);
  const Matrix x = random_matrix(301, 75, dtype(), 3), one(301, 75, dtype()), other(301, 75, dtype());
  DropoutRows args{.dropout = make_dropout(0.5, kKey), .sequence = 10, .x = x.view(), .y = one.view()};
  dropout_rows(stream_, args);
  args.y = other.view();
  expect_no_allocation(three, [&] { dropout_rows(three, args); });
  EXPECT_EQ(one.bytes(), other.bytes());
}

constexpr std::int64_t kRows = 512, kColumns = 300;
constexpr double kSigmas = 5.0;

TEST(Dropout, KeepsItsShareAndTheExpectedSum) {
  Stream stream(cpu_backend(), 1);
  for (const double rate : {0.01, 0.1, 0.5, 0.9}) {
    const Dropout dropout = make_dropout(rate, kKey);
    const Values y = ones_dropped(stream, dropout, kRows, kColumns);
    double sum = 0.0, kept = 0.0;
    for (const double value : y) sum += value, kept += value != 0.0;
    const auto count = static_cast<double>(kRows * kColumns);
    const double deviation = std::sqrt(count * rate * (1.0 - rate));  // of a binomial distribution
    EXPECT_NEAR(kept, count * (1.0 - rate), kSigmas * deviation) << rate;
    EXPECT_NEAR(sum, count, kSigmas * deviation / (1.0 - rate)) << rate;
  }
}

// Two independent masks agree in a share of p^2 + (1 - p)^2.
TEST(Dropout, MasksOfOtherKeysSlotsPositionsAndChannelsAreIndependent) {
  Stream stream(cpu_backend(), 1);
  constexpr double kRate = 0.4, kShare = kRate * kRate + (1.0 - kRate) * (1.0 - kRate);
  const Dropout dropout = make_dropout(kRate, kKey);
  const Values mask = ones_dropped(stream, dropout, kRows, kColumns);
  const auto agree = [&](const Values& other, std::size_t shift = 0) {
    double same = 0.0;
    for (std::size_t i = 0; i + shift < mask.size(); ++i) same += mask[i + shift] == other[i];
    const auto count = static_cast<double>(mask.size() - shift);
    EXPECT_NEAR(same, count * kShare, kSigmas * std::sqrt(count * kShare * (1.0 - kShare)));
  };
  agree(ones_dropped(stream, make_dropout(kRate, kKey + 1), kRows, kColumns));
  agree(ones_dropped(stream, make_dropout(kRate, kKey ^ (std::uint64_t{1} << 63)), kRows, kColumns));
  agree(ones_dropped(stream, dropout, kRows, kColumns, 1));
  agree(ones_dropped(stream, dropout, kRows, kColumns, 0, 1));
  for (const std::size_t shift : {1, 16, 64}) agree(mask, shift);
  EXPECT_EQ(ones_dropped(stream, dropout, kRows, kColumns), mask);
}

TEST(Dropout, HasTheThresholdAndScaleOfItsRate) {
  EXPECT_FALSE(make_dropout(0.0, kKey).present());
  EXPECT_EQ(make_dropout(0.0, kKey).scale, 1.0f);
  EXPECT_EQ(make_dropout(0.25, kKey).threshold, 1u << 30);
  EXPECT_EQ(make_dropout(0.75, kKey).scale, 4.0f);
  EXPECT_EQ(make_dropout(1e-12, kKey).threshold, 1u);
  EXPECT_EQ(make_dropout(1.0 - 1e-12, kKey).threshold, 0xffffffffu);
  EXPECT_THAT(refusal_of([] { make_dropout(1.0, kKey); }), HasSubstr("below 1"));
  EXPECT_THAT(refusal_of([] { make_dropout(-0.1, kKey); }), HasSubstr("at least 0"));
}

TEST(Dropout, RefusesWrongShapes) {
  Stream stream(cpu_backend(), 1);
  const Matrix wide(3, 10, DType::kF32), narrow(3, 5, DType::kF32);
  EXPECT_THAT(refusal_of([&] {
                dropout_rows(stream, {.dropout = make_dropout(0.1, kKey), .x = wide.view(), .y = narrow.view()});
              }),
              HasSubstr("dropout: y: expected fp32 [3, 10], found fp32 [3, 5]"));
}

}  // namespace
}  // namespace convoy::ops::test
