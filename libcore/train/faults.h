// SPDX-License-Identifier: Apache-2.0
// The faults that a run rehearses, as they strike one rank.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/config/fault.h"
#include "libcore/model/parameters.h"

namespace convoy::train {

class Faults {
 public:
  Faults() = default;
  // `rank` of the world. A kill or a hang leaves a marker in `markers` and does not strike a second time, so that the
  // same command resumes.
  Faults(std::vector<config::Fault> faults, int rank, Path markers);

  void begin_step(std::int64_t step) { step_ = step; }
  // In the middle of the step: may end the process, or never return.
  void interrupt() const;
  // May put a value that is not a number into one of the rank's own gradients, before they are summed.
  void spoil(const model::Parameters& parameters) const;
  // After a phase that took the calling thread `own_seconds` of work.
  void delay(config::Phase phase, double own_seconds) const;
  // After `bytes` were written in `seconds`.
  void delay_write(double bytes, double seconds) const;

 private:
  std::vector<config::Fault> faults_;
  int rank_ = 0;
  Path markers_;
  std::int64_t step_ = 0;
};

// Seconds of work that the calling thread has done: waiting and the time of others do not count.
double own_seconds();

}  // namespace convoy::train
