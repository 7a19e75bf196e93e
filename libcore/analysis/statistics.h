// SPDX-License-Identifier: Apache-2.0
// Order statistics and the search for the part of a series that is high. Pure. Of an empty series the answer is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace convoy::analysis {

// Scales a median absolute deviation to the standard deviation of a normal distribution.
inline constexpr double kMadToSigma = 1.4826;

// Of an even number of values, the mean of the two in the middle. Reorders its argument.
std::optional<double> median(std::vector<double>& values);
std::optional<float> median(std::span<float> values);

// The values that are there: those that are no NaN.
std::vector<float> present(std::span<const float> values);

// The smallest value that at least the share `p` of all do not exceed (nearest rank). Reorders its argument.
std::optional<double> quantile(std::vector<double>& values, double p);
std::optional<float> quantile(std::span<float> values, double p);

// The median of all values but one, for every choice of that one, in time linear in their number.
class LeaveOneOut {
 public:
  // At least two values.
  explicit LeaveOneOut(std::span<const std::int32_t> values);
  // Twice the median (so that it is whole) of the values without one that equals `value`.
  std::int64_t twice_median_without(std::int32_t value) const;

 private:
  std::size_t count_ = 0;
  std::vector<std::int32_t> sorted_;  // partially: the middle is in place
};

// Half open: first <= i < last.
struct Interval {
  std::size_t first = 0, last = 0;
  std::size_t length() const { return last - first; }
  bool operator==(const Interval&) const = default;
};

// Where values lie above `level`: the interval whose sum of votes is largest, a vote being (value - level) / level,
// limited to [-1, 1], and 0 for a NaN. So one huge value counts no more than a high one. `level` > 0. Empty where no
// vote is positive.
Interval highest_interval(std::span<const float> values, float level);

}  // namespace convoy::analysis
