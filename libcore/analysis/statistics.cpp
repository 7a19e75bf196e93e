// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "libcore/base/error.h"

namespace convoy::analysis {
namespace {

template <typename Value>
std::optional<Value> median_of(std::span<Value> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const Value below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

template <typename Value>
std::optional<Value> quantile_of(std::span<Value> values, double p) {
  if (values.empty()) return std::nullopt;
  const double position = std::ceil(p * static_cast<double>(values.size())) - 1.0;
  const auto last = static_cast<double>(values.size() - 1);
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::clamp(position, 0.0, last));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

std::optional<double> median(std::vector<double>& values) { return median_of(std::span<double>(values)); }
std::optional<float> median(std::span<float> values) { return median_of(values); }

std::vector<float> present(std::span<const float> values) {
  std::vector<float> result;
  std::ranges::copy_if(values, std::back_inserter(result), [](float value) { return !std::isnan(value); });
  return result;
}

std::optional<double> quantile(std::vector<double>& values, double p) {
  return quantile_of(std::span<double>(values), p);
}
std::optional<float> quantile(std::span<float> values, double p) { return quantile_of(values, p); }

LeaveOneOut::LeaveOneOut(std::span<const std::int32_t> values)
    : count_(values.size()), sorted_(values.begin(), values.end()) {
  check(count_ >= 2, "a median without one of the values needs two");
  // Needed in place: positions (count - 2) / 2 to (count - 2) / 2 + 2.
  const std::size_t low = (count_ - 2) / 2;
  if (count_ <= 32) {
    std::sort(sorted_.begin(), sorted_.end());
    return;
  }
  const auto first = sorted_.begin() + static_cast<std::ptrdiff_t>(low);
  std::nth_element(sorted_.begin(), first, sorted_.end());
  std::partial_sort(first + 1, first + 3, sorted_.end());
}

std::int64_t LeaveOneOut::twice_median_without(std::int32_t value) const {
  // The place-th of the rest: one further where the removed value lies at or before it.
  const auto rest = [&](std::size_t place) -> std::int64_t {
    return value > sorted_[place] ? sorted_[place] : sorted_[place + 1];
  };
  const std::size_t others = count_ - 1;
  if (others % 2 == 1) return 2 * rest(others / 2);
  return rest(others / 2 - 1) + rest(others / 2);
}

Interval highest_interval(std::span<const float> values, float level) {
  Interval best;
  double best_sum = 0.0, sum = 0.0;
  std::size_t begin = 0;
  const float scale = 1.0F / level;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    if (sum <= 0.0) {
      sum = 0.0;
      begin = i;
    }
    sum += std::clamp(values[i] * scale - 1.0F, -1.0F, 1.0F);
    if (sum > best_sum) {
      best_sum = sum;
      best = {begin, i + 1};
    }
  }
  return best;
}

}  // namespace convoy::analysis
