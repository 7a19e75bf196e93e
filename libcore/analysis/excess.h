// SPDX-License-Identifier: Apache-2.0
// How much longer a rank worked than its peers, step by step, and how much of that is chance. Pure functions over the
// own work of one layout's steps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libcore/analysis/own_work.h"
#include "libcore/analysis/peers.h"

namespace convoy::analysis {

// Consecutive steps of one layout: what is compared with each other.
struct Comparison {
  Layout layout;
  std::vector<RankPlace> ranks;  // [world]
  int threads = 1;
  bool hosts_are_constant = true;   // every rank was on its host throughout
  OwnWork own;                      // [step, rank]
  std::vector<std::int64_t> steps;  // the number of each
  std::vector<float> step_seconds;  // its training time, median over ranks; NaN: it does not count (warm-up, no record)
  std::vector<float> starved;       // [rank]: run-delay as a share of its working phases
};

// Of the steps that count.
std::vector<double> counted_seconds(const Comparison& comparison);
double training_seconds(const Comparison& comparison);  // their sum

// Of one phase: rows of ranks, natural logarithms of own work over the median of the others, NaN where they cannot be
// compared.
struct Excess {
  std::vector<int> ranks;
  std::size_t steps = 0;
  std::vector<float> values;  // [rank, step]
  std::span<const float> row(std::size_t index) const { return std::span(values).subspan(index * steps, steps); }
};

// At least this share of a set must have done something in a step.
inline constexpr double kQuorum = 0.6;

// Against the other members of the set, in the same step.
Excess excess_over_peers(const Comparison& comparison, std::size_t phase, std::span<const int> set);

// Of ranks without peers: each against its own median, then against the median of the others of that, so that what
// slowed all alike is nobody's. The level of a healthy step is not 0 but whatever the row has where it is low.
Excess excess_over_themselves(const Comparison& comparison, std::size_t phase, std::span<const int> ranks);

// The sums of all training phases, for maps and tables; the same two rules.
Excess total_over_peers(const Comparison& comparison, std::span<const int> set);
Excess total_over_themselves(const Comparison& comparison, std::span<const int> ranks);

// What chance does to a row.
struct RowNoise {
  double step = 0.0;   // standard deviation from one step to the next
  double block = 0.0;  // of medians of kBlockSteps
  std::size_t values = 0;
};
inline constexpr std::size_t kBlockSteps = 10;
RowNoise noise_of(std::span<const float> row);

// How far healthy ranks lie apart, from the lower half of each set alone: what is slow lies in the upper one.
class Spread {
 public:
  void add(std::vector<double> levels_of_set);
  std::size_t freedom() const { return distances_.size(); }
  double sigma() const;  // 0 without any

 private:
  std::vector<double> distances_;
};

}  // namespace convoy::analysis
