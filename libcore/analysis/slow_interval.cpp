// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/slow_interval.h"

#include <algorithm>
#include <cmath>

namespace convoy::analysis {
namespace {

// Levels of the votes, as natural logarithms: an excess between one and four times a level is found well by it.
constexpr float kScales[] = {0.015F, 0.05F, 0.15F, 0.5F, 2.0F};
constexpr int kRefinements = 4;
constexpr double kLeastExcess = 0.025;  // below it no search is worth its time
// Where so many of an interval's steps are affected, its median is the excess; else that of the affected steps.
constexpr double kNearlyAll = 0.75;

std::optional<double> median_where(std::span<const float> row, std::vector<float>& buffer, auto&& wanted) {
  buffer.clear();
  for (std::size_t i = 0; i < row.size(); ++i)
    if (!std::isnan(row[i]) && wanted(i)) buffer.push_back(row[i]);
  const std::optional<float> middle = median(std::span<float>(buffer));
  if (!middle) return std::nullopt;
  return static_cast<double>(*middle);
}

bool inside(const Interval& interval, std::size_t i) { return interval.first <= i && i < interval.last; }

class Search {
 public:
  Search(std::span<const float> row, std::size_t least, bool level_is_zero)
      : row_(row), least_(least), level_is_zero_(level_is_zero) {}

  // From a first level and scale to an interval whose own excess finds it again.
  std::optional<SlowInterval> find(double level, float scale) {
    SlowInterval slow;
    slow.level = level;
    for (int round = 0; round < kRefinements; ++round) {
      const Interval steps = highest(slow.level, scale);
      if (round > 0 && steps == slow.steps) break;
      slow.steps = steps;
      count(slow);
      if (slow.values < least_) return std::nullopt;
      if (!level_is_zero_ && slow.outside >= least_)
        slow.level = *median_where(row_, buffer_, [&](std::size_t i) { return !inside(steps, i); });
      slow.excess = *median_where(row_, buffer_, [&](std::size_t i) { return inside(steps, i); }) - slow.level;
      if (slow.excess < kLeastExcess) return std::nullopt;
      scale = static_cast<float>(slow.excess / 2.0);
    }
    return measured(slow);
  }

 private:
  Interval highest(double level, float scale) {
    if (level == 0.0) return highest_interval(row_, scale);
    shifted_.assign(row_.begin(), row_.end());
    for (float& value : shifted_) value -= static_cast<float>(level);
    return highest_interval(shifted_, scale);
  }

  void count(SlowInterval& slow) const {
    slow.values = slow.outside = 0;
    for (std::size_t i = 0; i < row_.size(); ++i)
      if (!std::isnan(row_[i])) ++(inside(slow.steps, i) ? slow.values : slow.outside);
  }

  std::optional<SlowInterval> measured(SlowInterval slow) {
    count(slow);
    slow.affected = 0;
    for (std::size_t i = slow.steps.first; i < slow.steps.last; ++i)
      slow.affected += is_affected(slow, row_[i]) ? 1 : 0;
    if (2 * slow.affected < slow.values) return std::nullopt;
    if (static_cast<double>(slow.affected) < kNearlyAll * static_cast<double>(slow.values)) {
      const SlowInterval before = slow;
      slow.excess = *median_where(row_, buffer_, [&](std::size_t i) {
        return inside(before.steps, i) && is_affected(before, row_[i]);
      }) - slow.level;
    }
    return slow;
  }

  std::span<const float> row_;
  std::size_t least_;
  bool level_is_zero_;
  std::vector<float> buffer_, shifted_;
};

}  // namespace

bool is_affected(const SlowInterval& slow, float value) {
  return static_cast<double>(value) - slow.level > slow.excess / 2.0;  // false for a NaN
}

std::vector<SlowInterval> slow_intervals(std::span<const float> row, std::size_t least, bool level_is_zero) {
  std::vector<SlowInterval> found;
  Search search(row, least, level_is_zero);
  std::vector<double> levels = {0.0};
  if (!level_is_zero) {
    // The row is around its median: where most of it is slow, the healthy steps are the low ones.
    std::vector<float> values = present(row);
    if (values.empty()) return found;
    for (const double share : {0.1, 0.25, 0.5})
      levels.push_back(static_cast<double>(*quantile(std::span<float>(values), share)));
    levels.erase(levels.begin());
  }
  for (const double level : levels) {
    for (const float scale : kScales) {
      const std::optional<SlowInterval> slow = search.find(level, scale);
      const auto same = [&](const SlowInterval& other) { return other.steps == slow->steps; };
      if (slow && std::ranges::none_of(found, same)) found.push_back(*slow);
    }
  }
  return found;
}

}  // namespace convoy::analysis
