// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/excess.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "libcore/analysis/statistics.h"

namespace convoy::analysis {
namespace {

constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();
constexpr double kHalfNormalMedian = 0.6745;

// The code of a rank's work in a step: of a phase, or of the training phases together.
class Source {
 public:
  Source(const OwnWork& own, std::size_t phase) : own_(own), phase_(phase) {}
  Code operator()(std::size_t step, int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    if (phase_ < kComparedPhases.size()) return own_.at(phase_, step, at);
    const std::optional<double> seconds = own_.training_seconds(step, at);
    if (!seconds) return kNotRecorded;
    return code_of(static_cast<std::uint64_t>(*seconds * 1e9));
  }

 private:
  const OwnWork& own_;
  std::size_t phase_;
};
constexpr std::size_t kAllPhases = kComparedPhases.size();

Excess empty_excess(const Comparison& comparison, std::span<const int> ranks) {
  Excess result;
  result.ranks.assign(ranks.begin(), ranks.end());
  result.steps = comparison.steps.size();
  result.values.assign(ranks.size() * result.steps, kAbsent);
  return result;
}

// Replaces the values of one step, one a rank, by their differences to the median of the others. Values are whole,
// `nothing` where absent; at least `quorum` must be there.
class AgainstOthers {
 public:
  AgainstOthers(Excess& result, std::size_t quorum) : result_(result), quorum_(std::max<std::size_t>(quorum, 2)) {}
  void add(std::size_t index, std::int32_t value) {
    indices_.push_back(index);
    values_.push_back(value);
  }
  void finish(std::size_t step) {
    if (values_.size() >= quorum_) {
      const LeaveOneOut others(values_);
      for (std::size_t i = 0; i < values_.size(); ++i) {
        const std::int64_t twice = 2 * std::int64_t{values_[i]} - others.twice_median_without(values_[i]);
        result_.values[indices_[i] * result_.steps + step] = static_cast<float>(0.5 * kLogPerCode * double(twice));
      }
    }
    indices_.clear();
    values_.clear();
  }

 private:
  Excess& result_;
  std::size_t quorum_;
  std::vector<std::size_t> indices_;
  std::vector<std::int32_t> values_;
};

bool counts(const Comparison& comparison, std::size_t step) { return !std::isnan(comparison.step_seconds[step]); }

Excess over_peers(const Comparison& comparison, const Source& source, std::span<const int> set) {
  Excess result = empty_excess(comparison, set);
  AgainstOthers others(result, static_cast<std::size_t>(std::ceil(kQuorum * static_cast<double>(set.size()))));
  for (std::size_t step = 0; step < result.steps; ++step) {
    if (!counts(comparison, step)) continue;
    for (std::size_t i = 0; i < set.size(); ++i) {
      const Code code = source(step, set[i]);
      if (code > kNothing) others.add(i, code);
    }
    others.finish(step);
  }
  return result;
}

// The median code of a rank over the steps that count; 0 without any.
std::int32_t own_median(const Comparison& comparison, const Source& source, int rank) {
  std::vector<float> codes;
  for (std::size_t step = 0; step < comparison.steps.size(); ++step) {
    const Code code = source(step, rank);
    if (code > kNothing && counts(comparison, step)) codes.push_back(code);
  }
  const std::optional<float> middle = median(std::span<float>(codes));
  return middle ? static_cast<std::int32_t>(std::lround(*middle)) : 0;
}

Excess over_themselves(const Comparison& comparison, const Source& source, std::span<const int> ranks) {
  Excess result = empty_excess(comparison, ranks);
  std::vector<std::int32_t> medians;
  for (const int rank : ranks) medians.push_back(own_median(comparison, source, rank));
  AgainstOthers others(result, 2);
  for (std::size_t step = 0; step < result.steps; ++step) {
    if (!counts(comparison, step)) continue;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const Code code = source(step, ranks[i]);
      if (code > kNothing) others.add(i, code - medians[i]);
    }
    others.finish(step);
  }
  return result;
}

}  // namespace

std::vector<double> counted_seconds(const Comparison& comparison) {
  const std::vector<float> seconds = present(comparison.step_seconds);
  return {seconds.begin(), seconds.end()};
}

double training_seconds(const Comparison& comparison) {
  const std::vector<double> seconds = counted_seconds(comparison);
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

Excess excess_over_peers(const Comparison& comparison, std::size_t phase, std::span<const int> set) {
  return over_peers(comparison, Source(comparison.own, phase), set);
}
Excess excess_over_themselves(const Comparison& comparison, std::size_t phase, std::span<const int> ranks) {
  return over_themselves(comparison, Source(comparison.own, phase), ranks);
}
Excess total_over_peers(const Comparison& comparison, std::span<const int> set) {
  return over_peers(comparison, Source(comparison.own, kAllPhases), set);
}
Excess total_over_themselves(const Comparison& comparison, std::span<const int> ranks) {
  return over_themselves(comparison, Source(comparison.own, kAllPhases), ranks);
}

namespace {

// The standard deviation of values that wander slowly, from the differences of neighbours.
double sigma_of_neighbours(const std::vector<float>& values) {
  std::vector<float> distances;
  for (std::size_t i = 1; i < values.size(); ++i) distances.push_back(std::abs(values[i] - values[i - 1]));
  const std::optional<float> middle = median(std::span<float>(distances));
  return middle ? static_cast<double>(*middle) * kMadToSigma / std::sqrt(2.0) : 0.0;
}

}  // namespace

RowNoise noise_of(std::span<const float> row) {
  const std::vector<float> values = present(row);
  RowNoise noise;
  noise.values = values.size();
  if (values.empty()) return noise;
  noise.step = sigma_of_neighbours(values);
  std::vector<float> blocks;
  for (std::size_t first = 0; first + kBlockSteps <= values.size(); first += kBlockSteps) {
    std::vector<float> block(values.begin() + static_cast<std::ptrdiff_t>(first),
                             values.begin() + static_cast<std::ptrdiff_t>(first + kBlockSteps));
    blocks.push_back(*median(std::span<float>(block)));
  }
  noise.block = sigma_of_neighbours(blocks);
  return noise;
}

void Spread::add(std::vector<double> levels) {
  std::sort(levels.begin(), levels.end());
  if (levels.size() < 3) return;  // of two, one may be slow
  const std::size_t middle = (levels.size() - 1) / 2;
  for (std::size_t i = 0; i < middle; ++i) distances_.push_back(levels[middle] - levels[i]);
}

double Spread::sigma() const {
  std::vector<double> distances = distances_;
  return median(distances).value_or(0.0) / kHalfNormalMedian;
}

}  // namespace convoy::analysis
