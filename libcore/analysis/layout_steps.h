// SPDX-License-Identifier: Apache-2.0
// All steps of a run that had the same layout, as compact matrices and sums: what the statistics are made of. The only
// pass over the step records.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "libcore/analysis/excess.h"
#include "libcore/analysis/trace_set.h"

namespace convoy::analysis {

// Sums over ranks, of one step. Nanoseconds.
struct StepSums {
  std::array<double, trace::kPhases> own = {};    // wall without run-delay
  std::array<double, trace::kPhases> delay = {};  // run-delay
  int ranks = 0;                                  // that recorded it
  std::uint64_t tokens = 0;                       // of the global batch
};

// Means a step, of one rank over the steps that count. Seconds.
struct RankMeans {
  std::int64_t steps = 0;  // recorded, warm-up included
  double communication = 0.0;
  double delay = 0.0, duration = 0.0;
  double working = 0.0, working_delay = 0.0;  // of the training's phases, communication left out
};

struct LayoutSteps {
  Comparison comparison;
  std::vector<StepSums> sums;      // [step]
  std::vector<float> all_seconds;  // [step]: training time, warm-up included; NaN where nobody recorded it
  std::vector<RankMeans> ranks;    // [rank]
  std::int64_t warm_up_steps = 0;
  std::int64_t recorded_steps = 0;  // by any rank
  trace::Header header;             // of the newest segment
};

// Segments of one layout, in order of step.
LayoutSteps collect(const TraceSet& traces, std::span<const Segment* const> segments);

// How many of the first steps of an attempt are its warm-up: those before the first that takes within a fifth of what
// the rest does, a tenth of all at most; and the first in any case, where there are more than two.
std::size_t warm_up_of(std::span<const float> step_seconds);

}  // namespace convoy::analysis
