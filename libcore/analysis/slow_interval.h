// SPDX-License-Identifier: Apache-2.0
// In which steps one rank was slow, if it was. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "libcore/analysis/statistics.h"

namespace convoy::analysis {

struct SlowInterval {
  Interval steps;
  double excess = 0.0;       // natural logarithm, over the level of a healthy step: median of the affected steps
  double level = 0.0;        // what a healthy step has
  std::size_t values = 0;    // steps of the interval that have a value
  std::size_t affected = 0;  // of them, those nearer to the excess than to the level
  std::size_t outside = 0;   // steps with a value beside the interval
};

// True for the steps of the interval that are nearer to the excess than to the level.
bool is_affected(const SlowInterval& slow, float value);

// Candidates, each the best interval at another scale, of at least `least` values and most of them affected; which of
// them is more than chance is for the caller to say. The level of a healthy step is 0, or unknown.
std::vector<SlowInterval> slow_intervals(std::span<const float> row, std::size_t least, bool level_is_zero);

}  // namespace convoy::analysis
