// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/phase_times.h"

#include <algorithm>
#include <numeric>

namespace convoy::trace {
namespace {

constexpr std::uint64_t kStepsToLearn = 3;
constexpr std::uint64_t kShortage = 100;  // cores are short where more than one part in so many of a step is delay

std::size_t index_of(Phase phase) { return static_cast<std::size_t>(phase); }

// As what `phase` counts inside `around`: within evaluation and checkpoint there is nothing else.
Phase counted_as(Phase phase, Phase around) {
  if (phase == Phase::kEvaluation || phase == Phase::kCheckpoint) return phase;
  if (around == Phase::kEvaluation || around == Phase::kEvaluationComm)
    return is_communication(phase) ? Phase::kEvaluationComm : Phase::kEvaluation;
  if (around == Phase::kCheckpoint || around == Phase::kCheckpointComm)
    return is_communication(phase) ? Phase::kCheckpointComm : Phase::kCheckpoint;
  return phase;
}

}  // namespace

Phase PhaseTimes::current() const { return depth_ == 0 ? Phase::kOther : stack_[std::min(depth_, kDeepest) - 1]; }

// The one place that says when the run-delay is read, beside the ends of a step: it costs a system call. Where cores
// are short its share of each phase matters, elsewhere it is spread over what passed since the last reading.
bool PhaseTimes::wants_delay_of(Phase phase, bool ending) const {
  return cores_are_short_ || (ending && depth_ == 1 && !is_communication(phase));
}

void PhaseTimes::advance(std::uint64_t now) {
  if (now <= last_) return;
  times_[index_of(current())].wall_ns += now - last_;
  unspread_[index_of(current())] += now - last_;
  last_ = now;
}

void PhaseTimes::read_delay() {
  const std::uint64_t delay = run_delay_.read();
  const std::uint64_t passed = std::accumulate(unspread_.begin(), unspread_.end(), std::uint64_t{0});
  // The scheduler counts by a clock of its own: a little more than what passed may appear.
  const std::uint64_t fresh = std::min(delay - last_delay_, passed);
  last_delay_ = delay;
  if (fresh > 0) {
    const double share = static_cast<double>(fresh) / static_cast<double>(passed);
    for (std::size_t i = 0; i < kPhases; ++i) {
      const auto part = static_cast<std::uint64_t>(share * static_cast<double>(unspread_[i]));
      times_[i].delay_ns += unspread_[i] == passed ? fresh : std::min(part, unspread_[i]);
    }
  }
  unspread_ = {};
}

void PhaseTimes::begin_step(std::uint64_t now) {
  times_ = {};
  unspread_ = {};
  start_ = last_ = now;
  last_delay_ = run_delay_.read();
}

void PhaseTimes::end_step(std::uint64_t now) {
  settle(std::max(now, start_ + 1));  // a step takes time, however coarse the clock
  std::uint64_t delay = 0;
  for (const PhaseTime& time : times_) delay += time.delay_ns;
  cores_are_short_ = ++steps_ < kStepsToLearn || delay > duration_ns() / kShortage;
}

void PhaseTimes::enter(Phase phase, std::uint64_t now) {
  advance(now);
  if (wants_delay_of(phase, false)) read_delay();
  if (depth_ < kDeepest) stack_[depth_] = counted_as(phase, current());
  ++depth_;
}

void PhaseTimes::leave(std::uint64_t now) {
  if (depth_ == 0) return;
  advance(now);
  if (wants_delay_of(current(), true)) read_delay();
  --depth_;
}

void PhaseTimes::settle(std::uint64_t now) {
  advance(now);
  read_delay();
}

}  // namespace convoy::trace
