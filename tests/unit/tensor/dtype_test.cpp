// SPDX-License-Identifier: Apache-2.0
#include "libcore/tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace convoy::tensor {
namespace {

TEST(DType, SizesAndNames) {
  EXPECT_EQ(size_of(DType::kF32), 4u);
  EXPECT_EQ(size_of(DType::kBF16), 2u);
  EXPECT_EQ(size_of(DType::kF64), 8u);
  EXPECT_EQ(size_of(DType::kU8), 1u);
  EXPECT_EQ(name_of(DType::kF32), "fp32");
  EXPECT_EQ(name_of(DType::kBF16), "bf16");
  EXPECT_EQ(name_of(DType::kI32), "i32");
}

TEST(Bf16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(to_bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(to_bf16(1.0f + 0x1p-8f).bits, 0x3f80);             // half way, even below
  EXPECT_EQ(to_bf16(1.0f + 0x1p-7f + 0x1p-8f).bits, 0x3f82);   // half way, even above
  EXPECT_EQ(to_bf16(1.0f + 0x1p-8f + 0x1p-20f).bits, 0x3f81);  // just above half way
  EXPECT_EQ(to_bf16(-2.0f).bits, 0xc000);
}

TEST(Bf16, OverflowsToInfinityAndKeepsNan) {
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(to_bf16(-std::numeric_limits<float>::infinity()).bits, 0xff80);
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(Bf16, WidensExactly) {
  EXPECT_EQ(to_float({0x3fc0}), 1.5f);
  EXPECT_EQ(to_float({0x0001}), 0x1p-133f);
}

TEST(Half, WidensEveryKindOfNumber) {
  EXPECT_EQ(half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(half_to_float(0xc100), -2.5f);
  EXPECT_EQ(half_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);  // the smallest subnormal
  EXPECT_EQ(half_to_float(0x83ff), -0x1.ff8p-15f);
  EXPECT_TRUE(std::signbit(half_to_float(0x8000)));
  EXPECT_EQ(half_to_float(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half_to_float(0x7e00)));
}

}  // namespace
}  // namespace convoy::tensor
