// SPDX-License-Identifier: Apache-2.0
// Whose time it is: the stack of the phases that are open, and the exclusive time and run-delay of each in the current
// step. The time comes from outside. Private to the module.
#pragma once

#include <algorithm>
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
  Phase current() const { return current_; }
  const std::array<PhaseTime, kPhases>& times() const { return times_; }
  std::uint64_t duration_ns() const { return last_ - start_; }
  bool cores_are_short() const { return cores_are_short_; }

 private:
  void advance(std::uint64_t now);
  bool wants_delay(bool ending) const;
  void read_delay();
  static Phase counted_as(Phase phase, Phase around);

  static constexpr std::size_t kDeepest = 32;  // what is nested deeper counts as the phase around it
  // Between two readings of the run-delay passes so much at least.
  static constexpr std::uint64_t kShortGap = 5'000;  // ns
  static constexpr std::uint64_t kLongGap = 20'000'000;

  std::array<PhaseTime, kPhases> times_ = {};
  Phase current_ = Phase::kOther;
  bool cores_are_short_ = true;
  std::size_t depth_ = 0;
  std::uint64_t start_ = 0, last_ = 0;
  std::array<Phase, kDeepest> around_ = {};  // what was current before each open phase
  // When the run-delay was last read, and what it and the phases were then.
  std::uint64_t read_at_ = 0, read_delay_ = 0;
  std::array<std::uint64_t, kPhases> read_wall_ = {};
  RunDelay run_delay_;
  std::uint64_t steps_ = 0;
};

inline void PhaseTimes::advance(std::uint64_t now) {
  if (now <= last_) return;
  times_[static_cast<std::size_t>(current_)].wall_ns += now - last_;
  last_ = now;
}

// The one place that says when the run-delay is read, beside the ends of a step: it costs a system call. Whoever waits
// for a core waits longer than the short gap, so that while cores are short the phase which did is the one that ends
// when the delay is read; a longer gap would give to a computation of 100 us what the communication before it waited.
// While cores are not short, the end of an outermost phase now and then is enough.
inline bool PhaseTimes::wants_delay(bool ending) const {
  const std::uint64_t gap = last_ - read_at_;
  if (cores_are_short_) return gap >= kShortGap;
  return ending && depth_ == 1 && gap >= kLongGap && !is_communication(current_);
}

// As what `phase` counts inside `around`: within evaluation and checkpoint there is nothing else.
inline Phase PhaseTimes::counted_as(Phase phase, Phase around) {
  if (phase == Phase::kEvaluation || phase == Phase::kCheckpoint) return phase;
  if (around == Phase::kEvaluation || around == Phase::kEvaluationComm)
    return is_communication(phase) ? Phase::kEvaluationComm : Phase::kEvaluation;
  if (around == Phase::kCheckpoint || around == Phase::kCheckpointComm)
    return is_communication(phase) ? Phase::kCheckpointComm : Phase::kCheckpoint;
  return phase;
}

inline void PhaseTimes::enter(Phase phase, std::uint64_t now) {
  advance(now);
  if (wants_delay(false)) read_delay();
  if (depth_ < kDeepest) {
    around_[depth_] = current_;
    current_ = counted_as(phase, current_);
  }
  ++depth_;
}

inline void PhaseTimes::leave(std::uint64_t now) {
  if (depth_ == 0) return;
  advance(now);
  if (wants_delay(true)) read_delay();
  --depth_;
  if (depth_ < kDeepest) current_ = around_[depth_];
}

}  // namespace convoy::trace
