// SPDX-License-Identifier: Apache-2.0
#include "libcore/optim/lr_schedule.h"

#include <cmath>
#include <numbers>

namespace convoy::optim {

double LrSchedule::rate(std::int64_t update) const {
  const auto s = static_cast<double>(update), w = static_cast<double>(warmup_steps),
             d = static_cast<double>(decay_steps);
  if (update < warmup_steps) return peak * (s + 1.0) / w;
  if (kind == ScheduleKind::kConstant) return peak;
  const double progress = update >= decay_steps ? 1.0 : (s - w) / (d - w);
  return minimum + (peak - minimum) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace convoy::optim
