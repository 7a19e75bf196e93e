// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/phase_search.h"

#include <algorithm>
#include <cmath>

#include "libcore/analysis/statistics.h"

namespace convoy::analysis {
namespace {

constexpr std::size_t kFewRanks = 6;  // of which half may be slow
constexpr double kStall = 0.4;        // a logarithm: half as long again as the others

}  // namespace

void PhaseSearch::add_set(const std::vector<int>& ranks) {
  const Excess excess = excess_over_peers(comparison_, phase_, ranks);
  std::vector<double> levels;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    add_row(excess.row(i), ranks[i], ranks.size(), false);
    if (const std::optional<double> level = level_of(excess.row(i))) levels.push_back(*level);
  }
  findings_.spread.add(levels);
  add_stalls(excess);
}

void PhaseSearch::add_solitary(const std::vector<int>& ranks) {
  const Excess excess = excess_over_themselves(comparison_, phase_, ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i) add_row(excess.row(i), ranks[i], ranks.size(), true);
  for (Candidate& candidate : findings_.candidates)
    if (candidate.against_itself) compare_medians(candidate, excess);
}

void PhaseSearch::add_row(std::span<const float> row, int rank, std::size_t ranks, bool against_itself) {
  const std::vector<SlowInterval> found = slow_intervals(row, least_steps_, !against_itself);
  std::vector<SlowInterval> fast;
  if (ranks < kFewRanks) {
    std::vector<float> negated(row.begin(), row.end());
    for (float& value : negated) value = -value;
    fast = slow_intervals(negated, least_steps_, !against_itself);
  }
  add_noise(row, found, fast);
  for (const SlowInterval& slow : found) {
    if (against_itself && slow.outside < least_steps_) continue;
    Candidate candidate;
    candidate.rank = rank;
    candidate.slow = slow;
    candidate.few = ranks < 4;
    candidate.against_itself = against_itself;
    measure(candidate, row);
    findings_.candidates.push_back(candidate);
  }
}

// A fault is not noise, so the row's highest interval is taken out first; or its lowest, if that is farther from the
// rest: where few are compared, a slow one makes the others look fast.
void PhaseSearch::add_noise(std::span<const float> row, const std::vector<SlowInterval>& slow,
                            const std::vector<SlowInterval>& fast) {
  const auto size = [](const SlowInterval& interval) { return interval.excess * static_cast<double>(interval.values); };
  SlowInterval farthest;
  float shift = 0.0F;
  for (const std::vector<SlowInterval>* side : {&slow, &fast}) {
    for (const SlowInterval& interval : *side) {
      if (size(interval) <= size(farthest)) continue;
      farthest = interval;
      shift = static_cast<float>(side == &slow ? -interval.excess : interval.excess);
    }
  }
  rest_.assign(row.begin(), row.end());
  for (std::size_t i = farthest.steps.first; i < farthest.steps.last; ++i) rest_[i] += shift;
  const RowNoise noise = noise_of(rest_);
  if (noise.values >= 2) findings_.step_noise.push_back(noise.step);
  if (noise.values >= 3 * kBlockSteps) findings_.block_noise.push_back(noise.block);
}

std::optional<double> PhaseSearch::level_of(std::span<const float> row) const {
  std::vector<float> values = present(row);
  if (values.size() < least_steps_) return std::nullopt;
  return static_cast<double>(*median(std::span<float>(values)));
}

double PhaseSearch::seconds_at(std::size_t step, int rank) const {
  return seconds_of(comparison_.own.at(phase_, step, static_cast<std::size_t>(rank)));
}

void PhaseSearch::measure(Candidate& candidate, std::span<const float> row) const {
  const SlowInterval& slow = candidate.slow;
  candidate.first = slow.steps.last;
  for (std::size_t step = slow.steps.first; step < slow.steps.last; ++step) {
    if (!is_affected(slow, row[step])) continue;
    candidate.first = std::min(candidate.first, step);
    candidate.last = step;
    const double share = 1.0 - std::exp(slow.level - static_cast<double>(row[step]));
    candidate.seconds += seconds_at(step, candidate.rank) * share;
    candidate.step_seconds += static_cast<double>(comparison_.step_seconds[step]);
  }
  candidate.ratio = std::exp(slow.excess);
}

// By the medians of the affected steps and of those beside the interval, which noise of single steps moves least;
// what they did to the median of the other ranks is nobody's.
void PhaseSearch::compare_medians(Candidate& candidate, const Excess& excess) const {
  const auto own = std::ranges::find(excess.ranks, candidate.rank) - excess.ranks.begin();
  const std::span<const float> row = excess.row(static_cast<std::size_t>(own));
  std::vector<double> of_others;
  for (const int rank : excess.ranks) {
    const std::optional<double> ratio = ratio_of_medians(candidate.slow, row, rank);
    if (!ratio) continue;
    if (rank == candidate.rank)
      candidate.own_ratio = *ratio;
    else
      of_others.push_back(*ratio);
  }
  candidate.ratio = candidate.own_ratio / median(of_others).value_or(1.0);
}

std::optional<double> PhaseSearch::ratio_of_medians(const SlowInterval& slow, std::span<const float> row,
                                                    int rank) const {
  std::vector<double> affected, beside;
  for (std::size_t step = 0; step < row.size(); ++step) {
    const double seconds = seconds_at(step, rank);
    if (std::isnan(row[step]) || seconds <= 0.0) continue;
    if (step < slow.steps.first || step >= slow.steps.last)
      beside.push_back(seconds);
    else if (is_affected(slow, row[step]))
      affected.push_back(seconds);
  }
  if (affected.empty() || beside.empty()) return std::nullopt;
  return *median(affected) / *median(beside);
}

void PhaseSearch::add_stalls(const Excess& excess) {
  if (kComparedPhases[phase_] != trace::Phase::kData) return;
  if (stalls_.empty()) stalls_.assign(excess.steps, 0.0);
  for (std::size_t i = 0; i < excess.ranks.size(); ++i) {
    const std::span<const float> row = excess.row(i);
    for (std::size_t step = 0; step < row.size(); ++step) {
      if (!(row[step] > static_cast<float>(kStall))) continue;
      const double stall = seconds_at(step, excess.ranks[i]) * (1.0 - std::exp(-static_cast<double>(row[step])));
      findings_.moving_seconds += std::max(0.0, stall - stalls_[step]);
      stalls_[step] = std::max(stalls_[step], stall);
    }
  }
}

}  // namespace convoy::analysis
