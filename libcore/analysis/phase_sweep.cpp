// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/phase_sweep.h"

#include <algorithm>

namespace convoy::analysis {
namespace {

using trace::Phase;

bool keeps_all(Phase phase) { return phase == Phase::kEvaluation || phase == Phase::kCheckpoint; }

Phase communication_inside(Phase inside, Phase communication) {
  if (inside == Phase::kEvaluation) return Phase::kEvaluationComm;
  if (inside == Phase::kCheckpoint) return Phase::kCheckpointComm;
  return communication;
}

}  // namespace

// Gives the time up to `time` to what is open.
void PhaseSweep::advance(std::uint64_t time) {
  while (now_ < time) {
    while (!open_.empty() && open_.top().end <= now_) open_.pop();
    const std::uint64_t until = open_.empty() ? time : std::min(time, open_.top().end);
    record_[open_.empty() ? Phase::kOther : open_.top().counts_as].wall_ns += until - now_;
    now_ = until;
  }
  while (!open_.empty() && open_.top().end <= now_) open_.pop();
}

// Not beyond the last end: what comes after it is part of the step only if another interval begins there.
Phase PhaseSweep::inside_at(std::uint64_t time) {
  if (count_ > 0) advance(std::min(time, end_));
  return open_.empty() ? Phase::kOther : open_.top().inside;
}

void PhaseSweep::add(std::uint64_t start, std::uint64_t duration, Phase counts_as, Phase inside) {
  if (count_ == 0) now_ = record_.start_ns = start;
  advance(start);
  open_.push({count_++, start + duration, counts_as, inside});
  end_ = std::max(end_, start + duration);
}

Phase PhaseSweep::phase(std::uint64_t start, std::uint64_t duration, Phase phase) {
  const Phase outer = inside_at(start);
  if (trace::is_communication(phase)) {
    add(start, duration, communication_inside(outer, phase), outer);
    return outer;
  }
  const Phase inside = keeps_all(outer) ? outer : phase;
  add(start, duration, inside, inside);
  return inside;
}

Phase PhaseSweep::call(std::uint64_t start, std::uint64_t duration, trace::GroupKind group) {
  const Phase outer = inside_at(start);
  add(start, duration, communication_inside(outer, trace::communication_phase(group)), outer);
  return outer;
}

std::optional<trace::StepRecord> PhaseSweep::finish(std::uint32_t step) {
  if (count_ == 0 || end_ == record_.start_ns) return std::nullopt;
  advance(end_);
  record_.step = step;
  record_.duration_ns = end_ - record_.start_ns;
  if (record_[Phase::kEvaluation].wall_ns > 0) record_.flags |= trace::kEvaluated;
  if (record_[Phase::kCheckpoint].wall_ns > 0) record_.flags |= trace::kSaved;
  return record_;
}

}  // namespace convoy::analysis
