// SPDX-License-Identifier: Apache-2.0
#include "libcore/optim/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace convoy::optim {
namespace {

// What is left of the decay at progress r, from 1 to 0.
double remaining(ScheduleKind kind, double r) {
  switch (kind) {
    case ScheduleKind::kConstant:
      return 1.0;
    case ScheduleKind::kLinear:
      return 1.0 - r;
    case ScheduleKind::kCosine:
      return 0.5 * (1.0 + std::cos(std::numbers::pi * r));
    case ScheduleKind::kWsd:
      return 1.0 - std::sqrt(r);
  }
  return 1.0;
}

}  // namespace

double LrSchedule::rate(std::int64_t update) const {
  const auto s = static_cast<double>(update), w = static_cast<double>(warmup_steps),
             d = static_cast<double>(decay_steps);
  if (update < warmup_steps) return peak * (s + 1.0) / w;
  if (kind == ScheduleKind::kConstant) return peak;
  const double start = kind == ScheduleKind::kWsd ? static_cast<double>(decay_start) : w;
  const double progress = update >= decay_steps ? 1.0 : std::max(0.0, (s - start) / (d - start));
  return minimum + (peak - minimum) * remaining(kind, progress);
}

}  // namespace convoy::optim
