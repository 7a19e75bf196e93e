// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "libcore/base/random.h"

namespace convoy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kTwoTo53 = 9007199254740992.0;  // from here on doubles are two apart

double sum_of(const std::vector<double>& terms) {
  ExactSum sum;
  for (const double term : terms) sum.add(term);
  return sum.value();
}

TEST(ExactSum, LosesNothingOnTheWay) {
  EXPECT_EQ(sum_of({}), 0.0);
  EXPECT_EQ(sum_of({1.5, -0.25, 2.0}), 3.25);
  EXPECT_EQ(sum_of({kTwoTo53, 1.0, 1.0}), kTwoTo53 + 2.0);  // one after the other: 2^53
  EXPECT_EQ(sum_of({1e300, 1.0, -1e300}), 1.0);
  EXPECT_EQ(sum_of({kLargest, kSmallest, -kLargest}), kSmallest);
  EXPECT_EQ(sum_of({kLargest, kLargest, -kLargest}), kLargest);  // beyond the range of a double meanwhile
  EXPECT_EQ(sum_of({-1.0, -1e-300, 1.0}), -1e-300);
  EXPECT_EQ(sum_of({-3.0, 1.0}), -2.0);
}

TEST(ExactSum, RoundsOnceToNearestAndTiesToEven) {
  EXPECT_EQ(sum_of({kTwoTo53, 1.0}), kTwoTo53);
  EXPECT_EQ(sum_of({kTwoTo53, 3.0}), kTwoTo53 + 4.0);
  EXPECT_EQ(sum_of({kTwoTo53, 1.0, kSmallest}), kTwoTo53 + 2.0);  // above the tie by the smallest there is
  EXPECT_EQ(sum_of({-kTwoTo53, -1.0, -kSmallest}), -kTwoTo53 - 2.0);
  EXPECT_EQ(sum_of({1.0, 0x1p-53, 0x1p-200}), 1.0 + 0x1p-52);
}

TEST(ExactSum, IsNoNumberIfATermIsNotFinite) {
  for (const double bad : {kInfinity, -kInfinity, std::nan("")}) {
    EXPECT_TRUE(std::isnan(sum_of({1.0, bad, 2.0})));
    EXPECT_TRUE(std::isnan(sum_of({kInfinity, bad})));
  }
}

// Terms of all sizes and both signs; added by three ranks, whose words are then summed as an all-reduce does it.
TEST(ExactSum, DependsNeitherOnTheOrderNorOnWhoAdds) {
  std::vector<double> terms;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::uint64_t x = mix64(i);
    terms.push_back(std::ldexp(static_cast<double>(x >> 11), static_cast<int>(x % 600) - 300) * (x & 1024 ? 1 : -1));
  }
  const double sum = sum_of(terms);
  ExactSum total;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ExactSum mine;
    for (std::size_t i = rank; i < terms.size(); i += 3) mine.add(terms[i]);
    for (std::size_t word = 0; word < ExactSum::kWords; ++word) total.words()[word] += mine.words()[word];
  }
  EXPECT_EQ(total.value(), sum);
  std::ranges::reverse(terms);
  EXPECT_EQ(sum_of(terms), sum);
  ExactSum whole;
  for (const double term : terms) whole.add(term);
  EXPECT_TRUE(std::ranges::equal(total.words(), whole.words()));
}

}  // namespace
}  // namespace convoy
