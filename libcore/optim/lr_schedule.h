// SPDX-License-Identifier: Apache-2.0
// The learning rate of every update: pure arithmetic in double.
#pragma once

#include <cstdint>

namespace convoy::optim {

enum class ScheduleKind { kConstant, kCosine };

struct LrSchedule {
  ScheduleKind kind = ScheduleKind::kCosine;
  double peak = 0.0;
  double minimum = 0.0;           // cosine
  std::int64_t warmup_steps = 0;  // W
  std::int64_t decay_steps = 0;   // D

  // Rate of update s, from 0: peak (s + 1) / W for s < W; then the peak (constant), or min + (peak - min) (1 + cos(pi
  // r)) / 2 with r = (s - W) / (D - W), 1 from s >= D on.
  double rate(std::int64_t update) const;
};

}  // namespace convoy::optim
