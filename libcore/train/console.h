// SPDX-License-Identifier: Apache-2.0
// The lines that people watch: aligned, one a few seconds, so that a log stays readable and a terminal alive.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "libcore/train/metrics.h"

namespace convoy::train {

// "step    12/2000  loss  6.1234  lr 3.00e-04  norm   1.234   12.3 K tokens/s   0.456 TFLOP/s  eta 12m 3s"
std::string step_line(const StepMetrics& step, const Timing& timing, std::int64_t steps,
                      std::optional<double> eta_seconds);
std::string eval_line(const EvalMetrics& evaluation, std::int64_t steps, double seconds);

// Decides which steps get a line: every `every`-th, or, where that is 0, those that come `seconds` after the last line;
// the first and the last always.
class LinePacer {
 public:
  LinePacer(std::int64_t every, double seconds) : every_(every), seconds_(seconds) {}
  bool due(std::int64_t step, std::int64_t steps);

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t every_;
  double seconds_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace convoy::train
