// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/phase_times.h"

namespace convoy::trace {
namespace {

constexpr std::uint64_t kStepsToLearn = 3;
constexpr std::uint64_t kShortage = 100;  // cores are short where more than one part in so many of a step is delay

}  // namespace

// What is new belongs to the phase that is current, as far as it was long enough; what is left to the others, in
// proportion to their time since the last reading. The scheduler counts by a clock of its own, so that a little more
// than what passed may appear.
void PhaseTimes::read_delay() {
  const std::uint64_t delay = run_delay_.read(), passed = last_ - read_at_;
  std::uint64_t left = std::min(delay - read_delay_, passed);
  const std::size_t mine = static_cast<std::size_t>(current_);
  const auto wall_since = [this](std::size_t i) { return times_[i].wall_ns - read_wall_[i]; };
  if (left > 0) {
    const std::uint64_t others = passed - wall_since(mine), part = std::min(left, wall_since(mine));
    times_[mine].delay_ns += part;
    left -= part;
    const double share = others == 0 ? 0.0 : static_cast<double>(left) / static_cast<double>(others);
    for (std::size_t i = 0; i < kPhases && left > 0; ++i) {
      if (i == mine) continue;
      const auto theirs = static_cast<std::uint64_t>(share * static_cast<double>(wall_since(i)));
      times_[i].delay_ns += std::min(theirs, wall_since(i));
    }
  }
  for (std::size_t i = 0; i < kPhases; ++i) read_wall_[i] = times_[i].wall_ns;
  read_at_ = last_;
  read_delay_ = delay;
}

void PhaseTimes::begin_step(std::uint64_t now) {
  times_ = {};
  read_wall_ = {};
  start_ = last_ = read_at_ = now;
  read_delay_ = run_delay_.read();
}

void PhaseTimes::end_step(std::uint64_t now) {
  settle(std::max(now, start_ + 1));  // a step takes time, however coarse the clock
  std::uint64_t delay = 0;
  for (const PhaseTime& time : times_) delay += time.delay_ns;
  cores_are_short_ = ++steps_ < kStepsToLearn || delay > duration_ns() / kShortage;
}

void PhaseTimes::settle(std::uint64_t now) {
  advance(now);
  read_delay();
}

}  // namespace convoy::trace
