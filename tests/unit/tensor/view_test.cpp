// SPDX-License-Identifier: Apache-2.0
#include "libcore/tensor/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "libcore/base/error.h"

namespace convoy::tensor {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::array<float, 12> kNumbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

View three_by_four() { return {kNumbers.data(), DType::kF32, {3, 4}}; }

TEST(View, CountsRowsAndColumns) {
  const View view(kNumbers.data(), DType::kF32, {2, 2, 3});
  EXPECT_EQ(view.rows(), 4);
  EXPECT_EQ(view.columns(), 3);
  EXPECT_EQ(view.stride(), 3);
  EXPECT_TRUE(view.dense());
}

TEST(View, TakesRows) {
  const View rows = rows_of(three_by_four(), 1, 3);
  EXPECT_EQ(rows.shape, (Shape{2, 4}));
  EXPECT_EQ(rows.as<float>()[0], 4.0f);
}

TEST(View, TakesColumnsAndKeepsTheStride) {
  const View columns = columns_of(three_by_four(), 1, 3);
  EXPECT_EQ(columns.shape, (Shape{3, 2}));
  EXPECT_EQ(columns.stride(), 4);
  EXPECT_FALSE(columns.dense());
  EXPECT_EQ(columns.as<float>()[columns.stride()], 5.0f);
}

TEST(View, TakesRowsOfColumns) {
  const View part = rows_of(columns_of(three_by_four(), 2, 4), 2, 3);
  EXPECT_EQ(part.as<float>()[0], 10.0f);
  EXPECT_EQ(part.as<float>()[1], 11.0f);
}

TEST(View, OffsetsByTheSizeOfAnElement) {
  std::array<std::uint16_t, 4> halves{1, 2, 3, 4};
  const MutableView view{halves.data(), DType::kBF16, {2, 2}, 0};
  EXPECT_EQ(rows_of(view, 1, 2).as<std::uint16_t>()[0], 3);
}

TEST(View, RefusesARangeOutside) {
  EXPECT_THROW(rows_of(three_by_four(), 2, 4), InternalError);
  EXPECT_THROW(rows_of(three_by_four(), 2, 1), InternalError);
  EXPECT_THROW(columns_of(three_by_four(), 0, 5), InternalError);
}

TEST(View, ExpectNamesWhatIsWrong) {
  EXPECT_NO_THROW(expect(three_by_four(), {3, 4}, DType::kF32, "x"));
  EXPECT_THAT(
      [] {
        expect(three_by_four(), {4, 3}, DType::kF32, "linear_forward: x");
      },
      ThrowsMessage<InternalError>(HasSubstr("linear_forward: x: expected fp32 [4, 3], got fp32 [3, 4]")));
  EXPECT_THAT(
      [] {
        expect(three_by_four(), {3, 4}, DType::kBF16, "x");
      },
      ThrowsMessage<InternalError>(HasSubstr("expected bf16")));
  EXPECT_THAT([] { expect(View(), {3, 4}, DType::kF32, "x"); }, ThrowsMessage<InternalError>(HasSubstr("x: missing")));
}

}  // namespace
}  // namespace convoy::tensor
