// SPDX-License-Identifier: Apache-2.0
// A curve over steps as inline SVG, in the page's colours.
#pragma once

#include <string>
#include <vector>

#include "libcore/analysis/report.h"

namespace convoy::analysis {

struct Chart {
  std::string title;  // with the unit of the values
  const Curve* curve = nullptr;
  bool from_zero = false;
  std::int64_t first_step = 1, last_step = 1;  // of the axis, so that charts beside each other compare
  std::vector<StepRange> bands;                // steps to shade
};

// A <figure>; empty if no value of the curve is finite.
std::string chart_figure(const Chart& chart);

}  // namespace convoy::analysis
