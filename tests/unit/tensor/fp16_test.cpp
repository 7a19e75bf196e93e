// SPDX-License-Identifier: Apache-2.0
#include "libcore/tensor/fp16.h"

#include <cmath>
#include <limits>

namespace convoy::tensor {
namespace {

TEST(Fp16, WidensAsHalvesDo) {
  EXPECT_EQ(to_float(Fp16{0x3c00}), 1.0f);
  EXPECT_EQ(to_float(Fp16{0x8001}), -0x1p-24f);
}

// Between a number and the next one the half way goes to the even one of the two, the floats beside it to the nearer.
TEST(Fp16, RoundsToNearestTiesToEvenFromTheSmallestToTheLargest) {
  constexpr std::uint16_t kLargest = 0x7bff;
  for (std::uint16_t bits = 0; bits < kLargest; ++bits) {
    const float low = to_float(Fp16{bits}), high = to_float(Fp16{static_cast<std::uint16_t>(bits + 1)});
    const float middle = (low + high) / 2.0f;
    ASSERT_EQ(to_fp16(low).bits, bits);
    ASSERT_EQ(to_fp16(-low).bits, bits | 0x8000);
    ASSERT_EQ(to_fp16(middle).bits, bits + (bits & 1)) << middle;
    ASSERT_EQ(to_fp16(std::nextafter(middle, low)).bits, bits) << middle;
    ASSERT_EQ(to_fp16(std::nextafter(middle, high)).bits, bits + 1) << middle;
  }
}

TEST(Fp16, OverflowsToInfinityAndKeepsNan) {
  EXPECT_EQ(to_fp16(65519.0f).bits, 0x7bff);  // below the half way to 65536
  EXPECT_EQ(to_fp16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_fp16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(to_fp16(std::numeric_limits<float>::infinity()).bits, 0x7c00);
  EXPECT_EQ(to_fp16(0x1p-26f).bits, 0);
  EXPECT_TRUE(std::isnan(to_float(to_fp16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace convoy::tensor
