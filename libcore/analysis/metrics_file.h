// SPDX-License-Identifier: Apache-2.0
// The curves that a run's metrics.jsonl holds, beside its traces. A run that still writes ends in half a line, and
// imported runs have no such file: what cannot be read is counted, never an error.
#pragma once

#include <cstdint>

#include "libcore/analysis/report.h"

namespace convoy::analysis {

struct MetricsFile {
  bool found = false;
  bool is_broken = false;       // the system did not let it be read to its end
  std::int64_t lines = 0;       // that are not blank
  std::int64_t unreadable = 0;  // of them: no JSON object, or a step without a number
  std::int64_t not_finite = 0;  // steps of the range whose loss was not finite
  Curve loss, learning_rate;    // of the steps in the range, in their order, each once; not thinned
};

// Reads RUN/metrics.jsonl, the steps of `range` alone.
MetricsFile read_metrics(const Path& run, const StepRange& range = {});

// At most `points` of it: of each stretch of steps the smallest and the largest value, so that no spike is lost.
Curve thinned(const Curve& curve, std::size_t points);

// Puts the curves into the report and says under `incomplete` what could not be read.
void add_metrics(const Path& run, const StepRange& range, Report& report);

}  // namespace convoy::analysis
