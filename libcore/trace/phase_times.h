// SPDX-License-Identifier: Apache-2.0
// Whose time it is: the stack of the phases that are open, and the exclusive time and run-delay of each in the current
// step. The time comes from outside. Private to the module.
#pragma once

#include <array>
#include <cstdint>

#include "libcore/trace/format.h"
#include "libcore/trace/run_delay.h"

namespace convoy::trace {

class PhaseTimes {
 public:
  explicit PhaseTimes(const Path& scheduling) : run_delay_(scheduling) {}

  // Phases that are open stay open, with no time yet.
  void begin_step(std::uint64_t now);
  void end_step(std::uint64_t now);
  void enter(Phase phase, std::uint64_t now);
  void leave(std::uint64_t now);
  // What has been counted is counted up to now, in every respect.
  void settle(std::uint64_t now);

  // The innermost open phase, as it counts.
  Phase current() const;
  const std::array<PhaseTime, kPhases>& times() const { return times_; }
  std::uint64_t duration_ns() const { return last_ - start_; }
  std::uint64_t delay_reads() const { return run_delay_.reads(); }

 private:
  bool wants_delay_of(Phase phase, bool ending) const;
  void advance(std::uint64_t now);
  void read_delay();

  static constexpr std::size_t kDeepest = 32;  // what is nested deeper counts as the phase around it

  std::array<Phase, kDeepest> stack_ = {};
  std::size_t depth_ = 0;
  std::array<PhaseTime, kPhases> times_ = {};
  std::uint64_t start_ = 0, last_ = 0;
  RunDelay run_delay_;
  std::uint64_t last_delay_ = 0;
  // Time since the run-delay was last read.
  std::array<std::uint64_t, kPhases> unspread_ = {};
  std::uint64_t steps_ = 0;
  bool cores_are_short_ = true;
};

}  // namespace convoy::trace
