// SPDX-License-Identifier: Apache-2.0
// Comparison of number arrays that says where they differ: EXPECT_TRUE(near(got, expected, {.absolute = 1e-6})).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace convoy::support {

// |got - expected| <= absolute + relative * |expected|. Give the reason of the numbers where the constant is named.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

// "[1, 0, 3]": element `index` of a row-major array of `shape`; the flat index if no shape is given.
inline std::string position(std::size_t index, std::span<const std::int64_t> shape) {
  if (shape.empty()) return std::string("[").append(std::to_string(index)).append("]");
  std::string text;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[i]);
    text = std::to_string(index % extent) + (text.empty() ? "" : ", ") + text;
    index /= extent;
  }
  return "[" + text + "]";
}

template <class Got, class Expected>
testing::AssertionResult near(const Got& got, const Expected& expected, Tolerance tolerance,
                              std::vector<std::int64_t> shape = {}) {
  if (std::size(got) != std::size(expected)) {
    return testing::AssertionFailure() << "got " << std::size(got) << " elements, expected " << std::size(expected);
  }
  std::size_t wrong = 0, worst = 0;
  double worst_excess = 0;
  for (std::size_t i = 0; i < std::size(got); ++i) {
    const double g = static_cast<double>(got[i]), e = static_cast<double>(expected[i]);
    const double excess = std::abs(g - e) - (tolerance.absolute + tolerance.relative * std::abs(e));
    if (excess <= 0 || g == e || (std::isnan(g) && std::isnan(e))) continue;
    if (wrong++ == 0 || excess > worst_excess || std::isnan(excess)) {
      worst = i;
      worst_excess = excess;
    }
  }
  if (wrong == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << wrong << " of " << std::size(got) << " elements differ, the worst at "
                                     << position(worst, shape) << ": got " << static_cast<double>(got[worst])
                                     << ", expected " << static_cast<double>(expected[worst]) << ", tolerance "
                                     << tolerance.absolute << " + " << tolerance.relative << " * |expected|";
}

}  // namespace convoy::support
