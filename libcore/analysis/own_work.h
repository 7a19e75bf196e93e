// SPDX-License-Identifier: Apache-2.0
// The own work of every rank in every step, phase by phase: wall time without run-delay; communication is in phases of
// its own. Kept as 16-bit logarithms (steps of 0.05 %), so that 1,024 ranks x 10,000 steps x 5 phases are 98 MiB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libcore/trace/format.h"

namespace convoy::analysis {

// The logarithm of a time. 0: not recorded; 1: recorded as nothing.
using Code = std::uint16_t;
inline constexpr Code kNotRecorded = 0;
inline constexpr Code kNothing = 1;
inline constexpr double kCodesPerOctave = 1365.0;  // 48 octaves of nanoseconds: 3 days

Code code_of(std::uint64_t nanoseconds);
double seconds_of(Code code);  // of a recorded time
// The natural logarithm that a difference of codes stands for.
inline constexpr double kLogPerCode = 0.69314718055994530942 / kCodesPerOctave;

// The phases whose work is compared: what a training step itself does, and checkpoints. The rest, "other", is not:
// logging, metrics and norms are the first replica's by design.
inline constexpr std::array kComparedPhases = {trace::Phase::kData, trace::Phase::kForward, trace::Phase::kBackward,
                                               trace::Phase::kOptimizer, trace::Phase::kCheckpoint};
// The first of them, whose sum is a rank's own work of a training step.
inline constexpr std::size_t kTrainingPhases = 4;

// Wall without run-delay; what the records cannot mean is 0.
std::uint64_t own_ns(const trace::PhaseTime& time);
// Of a step without evaluation and checkpoints.
std::uint64_t training_ns(const trace::StepRecord& record);

class OwnWork {
 public:
  OwnWork() = default;
  OwnWork(std::size_t ranks, std::size_t steps);
  // Holds the ranks alone that are `present`; of the others nothing is recorded, and nothing may be.
  OwnWork(const std::vector<bool>& present, std::size_t steps);

  std::size_t ranks() const { return column_of_rank_.size(); }
  std::size_t steps() const { return steps_; }

  void set(std::size_t phase, std::size_t step, std::size_t rank, Code code) {
    codes_[phase][step * columns_ + static_cast<std::size_t>(column_of_rank_[rank])] = code;
  }
  Code at(std::size_t phase, std::size_t step, std::size_t rank) const {
    const std::int32_t column = column_of_rank_[rank];
    return column < 0 ? kNotRecorded : codes_[phase][step * columns_ + static_cast<std::size_t>(column)];
  }
  // `phase` is an index of kComparedPhases, kept if anybody ever did something in it.
  void put(std::size_t step, std::size_t rank, const trace::StepRecord& record);
  // The sum over the training's phases, in seconds; none where the step is not recorded.
  std::optional<double> training_seconds(std::size_t step, std::size_t rank) const;

 private:
  std::size_t columns_ = 0, steps_ = 0;
  std::vector<std::int32_t> column_of_rank_;                     // [rank], -1: not present
  std::array<std::vector<Code>, kComparedPhases.size()> codes_;  // [phase][step, column]
};

}  // namespace convoy::analysis
