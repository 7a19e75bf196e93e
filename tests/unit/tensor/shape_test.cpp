// SPDX-License-Identifier: Apache-2.0
#include "libcore/tensor/shape.h"

#include <gtest/gtest.h>

#include "libcore/base/error.h"

namespace convoy::tensor {
namespace {

TEST(Shape, CountsAndPrints) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.count(), 24);
  EXPECT_EQ(shape.back(), 4);
  EXPECT_EQ(shape[1], 3);
  EXPECT_EQ(shape.text(), "[2, 3, 4]");
}

TEST(Shape, OfNoDimensionIsOneElement) {
  EXPECT_EQ(Shape{}.count(), 1);
  EXPECT_EQ(Shape{}.text(), "[]");
}

TEST(Shape, DiffersByRankAndExtent) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
}

TEST(Shape, RefusesWhatCannotBe) {
  EXPECT_THROW((Shape{1, 1, 1, 1, 1}), InternalError);
  EXPECT_THROW((Shape{-1}), InternalError);
  EXPECT_THROW((Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}), InternalError);
}

}  // namespace
}  // namespace convoy::tensor
