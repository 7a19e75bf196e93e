// SPDX-License-Identifier: Apache-2.0
// The phases of one step from intervals that nest or overlap as they like: each instant counts for the interval that
// began last of those that cover it, so that the phases sum to the step.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>

#include "libcore/trace/format.h"

namespace convoy::analysis {

// Intervals come in the order of their starts; of equal starts, the one that encloses comes first. What an interval
// counts as depends on the one that it began inside: everything within evaluation or checkpoint is theirs. Each
// function returns the phase, communication aside, that the interval lies in.
class PhaseSweep {
 public:
  trace::Phase phase(std::uint64_t start, std::uint64_t duration, trace::Phase phase);
  trace::Phase call(std::uint64_t start, std::uint64_t duration, trace::GroupKind group);
  trace::Phase inside_at(std::uint64_t time);  // counts nothing

  // The record of all that came; none where nothing has a duration.
  std::optional<trace::StepRecord> finish(std::uint32_t step);

 private:
  struct Interval {
    std::uint64_t order, end;
    trace::Phase counts_as, inside;
    bool operator<(const Interval& other) const { return order < other.order; }
  };

  void add(std::uint64_t start, std::uint64_t duration, trace::Phase counts_as, trace::Phase inside);
  void advance(std::uint64_t time);

  trace::StepRecord record_;
  std::priority_queue<Interval> open_;
  std::uint64_t count_ = 0;
  std::uint64_t now_ = 0, end_ = 0;
};

}  // namespace convoy::analysis
