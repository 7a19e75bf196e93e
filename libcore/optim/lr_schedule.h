// SPDX-License-Identifier: Apache-2.0
// The learning rate of every update: pure arithmetic in double.
#pragma once

#include <cstdint>

namespace convoy::optim {

enum class ScheduleKind { kConstant, kLinear, kCosine, kWsd };

struct LrSchedule {
  ScheduleKind kind = ScheduleKind::kCosine;
  double peak = 0.0;
  double minimum = 0.0;           // not of kConstant
  std::int64_t warmup_steps = 0;  // W
  std::int64_t decay_steps = 0;   // D
  std::int64_t decay_start = 0;   // S of kWsd, W <= S < D; the others decay from W on

  // Rate of update s, from 0: peak (s + 1) / W for s < W; then the peak (constant), or min + (peak - min) f(r) with f =
  // (1 + cos(pi r)) / 2 (cosine) or 1 - r (linear), r = (s - W) / (D - W), or 1 - sqrt(r) (WSD, warmup-stable-decay:
  // Hu et al., "MiniCPM", 2024; the root: Haegele et al., "Scaling Laws and Compute-Optimal Training Beyond Fixed
  // Training Durations", 2024) with r = (s - S) / (D - S), 0 up to s = S. r is 1 from s >= D on.
  double rate(std::int64_t update) const;
};

}  // namespace convoy::optim
