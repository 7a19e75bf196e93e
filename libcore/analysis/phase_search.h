// SPDX-License-Identifier: Apache-2.0
// Who might be slow in one phase, and what chance does there: the intervals in which a rank's own work was high, the
// noise of steps and the spread of ranks that they are to be judged by. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "libcore/analysis/excess.h"
#include "libcore/analysis/slow_interval.h"

namespace convoy::analysis {

// What might be a straggler, of one rank and phase.
struct Candidate {
  int rank = 0;
  SlowInterval slow;
  double seconds = 0.0;             // beyond its peers, over the affected steps
  double step_seconds = 0.0;        // that these steps took
  std::size_t first = 0, last = 0;  // affected columns
  bool against_itself = false;
  bool few = false;        // fewer than four ranks in its set
  double ratio = 1.0;      // of its work to that of its peers
  double own_ratio = 1.0;  // against itself: of its affected steps to its others, whatever slowed all alike
};

// One phase of all ranks.
struct PhaseFindings {
  std::vector<Candidate> candidates;
  std::vector<double> step_noise, block_noise;  // a row each
  Spread spread;
  double moving_seconds = 0.0;  // stalls of whoever had the longest in a step, summed over the steps
};

class PhaseSearch {
 public:
  // `phase` is an index of kComparedPhases; intervals have at least `least_steps` steps.
  PhaseSearch(const Comparison& comparison, std::size_t phase, std::size_t least_steps)
      : comparison_(comparison), phase_(phase), least_steps_(least_steps) {}

  // Ranks that are compared with each other.
  void add_set(const std::vector<int>& ranks);
  // Ranks without peers, all at once.
  void add_solitary(const std::vector<int>& ranks);
  PhaseFindings take() { return std::move(findings_); }

 private:
  void add_row(std::span<const float> row, int rank, std::size_t ranks, bool against_itself);
  void add_noise(std::span<const float> row, const std::vector<SlowInterval>& slow,
                 const std::vector<SlowInterval>& fast);
  std::optional<double> level_of(std::span<const float> row) const;
  double seconds_at(std::size_t step, int rank) const;
  void measure(Candidate& candidate, std::span<const float> row) const;
  void compare_medians(Candidate& candidate, const Excess& excess) const;
  std::optional<double> ratio_of_medians(const SlowInterval& slow, std::span<const float> row, int rank) const;
  void add_stalls(const Excess& excess);

  const Comparison& comparison_;
  std::size_t phase_, least_steps_;
  PhaseFindings findings_;
  std::vector<double> stalls_;  // [step]: the longest
  std::vector<float> rest_;     // a row without its fault
};

}  // namespace convoy::analysis
