// SPDX-License-Identifier: Apache-2.0
// What one rank observes of itself while it trains: the phases of each step, always; the events of the last steps, in a
// ring that survives the process; and all events of the steps that a window asks for, in the trace file.
//
// Recording takes no lock, makes no system call an event, and allocates nothing after construction. A phase change
// reads the clock, and the thread's run-delay (one pread) where cores are short; the file is written at the end of a
// step. A file that cannot be written ends the recording with a warning, never the run.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "libcore/base/file.h"
#include "libcore/trace/format.h"
#include "libcore/trace/lane.h"

namespace convoy::trace {

// Steps whose events are all kept. Empty: none.
struct Window {
  std::int64_t first = 1, last = 0;
  bool contains(std::int64_t step) const { return first <= step && step <= last; }
};

struct RecorderOptions {
  Path directory = {};  // RUN/traces, which exists; empty: nothing is written, phases are still measured
  Window window = {};
  std::size_t ring_events = std::size_t{1} << 17;  // a power of two: 4 MiB, 64 steps of 2,048 events
  // The run-delay of the thread that makes the recorder; unreadable: none.
  Path scheduling = "/proc/thread-self/schedstat";
};

std::uint64_t now_ns();  // the monotonic clock

class Recorder {
 public:
  // To be made, and its phases driven, on the thread that trains. Takes 2 ms. A header without a start gets this one.
  Recorder(Header header, const RecorderOptions& options);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // The index of a group of this rank, for events.
  std::uint16_t group_index(GroupKind kind) const;  // Event::kNoGroup where the header has none

  // Steps and phases: from the thread that made the recorder.
  void begin_step(std::int64_t step);
  // Writes the window's events and the record, with kFirst on the first, and begins nothing: time and events until the
  // next begin_step() belong to no step, and are not recorded. A step that an exception ended has no record.
  void end_step(std::uint64_t tokens, std::uint32_t flags);
  // Phases nest; the time of the inner one is not the outer one's. Communication inside kCheckpoint and kEvaluation
  // counts as theirs (kCheckpointComm, kEvaluationComm), whatever its group; computation there as theirs likewise.
  void enter(Phase phase);
  void leave();
  // Work that the thread has done in `phase` in this step so far: wall without run-delay and communication, in ns.
  // Reads both clocks if the phase is the current one.
  std::uint64_t own_ns(Phase phase);

  // Events: from any thread. begin returns the slot that end needs.
  std::uint64_t begin_event(Operation operation, std::uint16_t group, std::uint32_t sequence, std::uint64_t bytes,
                            std::uint16_t peer, bool overlapped);
  void end_event(std::uint64_t slot);

 private:
  friend class ComputeScope;
  friend class CommunicationScope;
  struct State;
  std::unique_ptr<State> state_;
};

// A phase as a scope. `recorder` may be null: nothing is recorded.
class PhaseScope {
 public:
  PhaseScope(Recorder* recorder, Phase phase) : recorder_(recorder) {
    if (recorder_ != nullptr) recorder_->enter(phase);
  }
  ~PhaseScope() {
    if (recorder_ != nullptr) recorder_->leave();
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Recorder* recorder_;
};

// A computation of one micro-batch as a scope: an event and a phase.
class ComputeScope {
 public:
  ComputeScope(Recorder* recorder, Phase phase, Operation operation, int micro_batch);
  ~ComputeScope();
  ComputeScope(const ComputeScope&) = delete;
  ComputeScope& operator=(const ComputeScope&) = delete;

 private:
  Recorder* recorder_;
  std::uint64_t slot_ = 0;
};

// A call of a communicator as a scope: an event, and on the training thread a phase.
struct CommunicationCall {
  Operation operation = Operation::kAllReduce;
  GroupKind group = GroupKind::kWorld;
  std::int64_t sequence = 0;
  std::uint64_t bytes = 0;
  int peer = 0;
};
class CommunicationScope {
 public:
  CommunicationScope(const Lane& lane, const CommunicationCall& call);
  ~CommunicationScope();
  CommunicationScope(const CommunicationScope&) = delete;
  CommunicationScope& operator=(const CommunicationScope&) = delete;

 private:
  Lane lane_;
  std::uint64_t slot_ = 0;
};

}  // namespace convoy::trace
