// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/trace/clock.h"
#include "libcore/trace/flight_ring.h"
#include "libcore/trace/phase_times.h"
#include "libcore/trace/trace_writer.h"

namespace convoy::trace {
namespace {

std::uint32_t saturated(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

Header with_start(Header header) {
  if (header.started_monotonic_ns != 0) return header;
  const auto real = std::chrono::system_clock::now().time_since_epoch();
  header.started_unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(real).count();
  header.started_monotonic_ns = now_ns();
  return header;
}

}  // namespace

struct Recorder::State {
  State(Header h, const RecorderOptions& o) : header(with_start(std::move(h))), options(o), times(o.scheduling) {
    index_of_kind.fill(Event::kNoGroup);
    for (std::size_t i = 0; i < header.groups.size(); ++i)
      index_of_kind[static_cast<std::size_t>(header.groups[i].kind)] = static_cast<std::uint16_t>(i);
  }

  Header header;
  RecorderOptions options;
  std::array<std::uint16_t, kGroupKinds> index_of_kind;  // in the header's groups
  Clock clock;
  PhaseTimes times;
  std::optional<TraceWriter> writer;
  std::optional<FlightRing> ring;
  std::vector<Event> window;  // for a block of them
  StepRecord record;
  std::uint64_t first_slot = 0;  // of the step
  bool is_first = true;
  // What other threads read.
  std::atomic<std::uint32_t> step{0};  // 0: none
  std::atomic<Phase> phase{Phase::kOther};

  void open_files();
  void stop_writing(const std::exception& error);
  void write_step();
  std::uint64_t write_window();

  void enter(Phase entered, std::uint64_t now) {
    times.enter(entered, now);
    phase.store(times.current(), std::memory_order_relaxed);
  }
  void leave(std::uint64_t now) {
    times.leave(now);
    phase.store(times.current(), std::memory_order_relaxed);
  }
  std::uint64_t begin_event(Event event, std::uint64_t now) {
    event.step = step.load(std::memory_order_relaxed);
    if (!ring || event.step == 0) return FlightRing::kNoSlot;
    event.start_ns = now;
    event.phase = phase.load(std::memory_order_relaxed);
    return ring->begin(event);
  }
  void end_event(std::uint64_t slot, std::uint64_t now) {
    if (slot != FlightRing::kNoSlot) ring->end(slot, now);
  }
};

void Recorder::State::open_files() {
  if (options.directory.empty()) return;
  try {
    writer.emplace(options.directory / trace_file_name(header.rank, header.attempt), header);
  } catch (const std::exception& error) {
    stop_writing(error);
    return;
  }
  const std::size_t groups = header.groups.size();
  try {
    ring.emplace(options.directory / ring_file_name(header.rank, header.attempt), options.ring_events, groups);
  } catch (const EnvironmentError& error) {
    log_warning(fmt::format("{}; the last steps' events will not outlive the process", error.what()));
    ring.emplace(Path(), options.ring_events, groups);
  }
  if (options.window.first <= options.window.last) window.reserve(kEventsPerBlock);
}

void Recorder::State::stop_writing(const std::exception& error) {
  writer.reset();
  log_warning(fmt::format("{}; this rank records no trace any more, training goes on", error.what()));
}

// The events of the step that have ended; returns how many others it had.
std::uint64_t Recorder::State::write_window() {
  const std::uint64_t end = ring->taken();
  const std::uint64_t oldest = end > ring->capacity() ? end - ring->capacity() : 0;
  std::uint64_t written = 0;
  for (std::uint64_t slot = std::max(first_slot, oldest); slot < end; ++slot) {
    Event event;
    if (!ring->read(slot, event)) continue;
    window.push_back(event);
    ++written;
    if (window.size() < kEventsPerBlock) continue;
    writer->append(std::span<const Event>(window));
    window.clear();
  }
  writer->append(std::span<const Event>(window));
  window.clear();
  return end - first_slot - written;
}

void Recorder::State::write_step() {
  if (!writer) return;
  try {
    if (ring && options.window.contains(static_cast<std::int64_t>(record.step)))
      record.events_dropped = saturated(write_window());
    writer->append(std::span<const StepRecord>(&record, 1));
  } catch (const std::exception& error) {
    stop_writing(error);
  }
}

Recorder::Recorder(Header header, const RecorderOptions& options)
    : state_(std::make_unique<State>(std::move(header), options)) {
  state_->open_files();
}

Recorder::~Recorder() = default;

std::uint16_t Recorder::group_index(GroupKind kind) const {
  return state_->index_of_kind[static_cast<std::size_t>(kind)];
}

void Recorder::begin_step(std::int64_t step) {
  State& state = *state_;
  state.record = {};
  state.record.step = static_cast<std::uint64_t>(std::max<std::int64_t>(step, 0));
  state.record.start_ns = state.clock.adjust();
  state.times.begin_step(state.record.start_ns);
  state.first_slot = state.ring ? state.ring->taken() : 0;
  state.step.store(saturated(state.record.step), std::memory_order_relaxed);
}

void Recorder::end_step(std::uint64_t tokens, std::uint32_t flags) {
  State& state = *state_;
  if (state.record.step == 0) return;
  state.step.store(0, std::memory_order_relaxed);
  state.times.end_step(state.clock.adjust());
  state.record.duration_ns = state.times.duration_ns();
  state.record.phases = state.times.times();
  state.record.tokens = tokens;
  state.record.flags = flags;
  if (state.is_first) state.record.flags |= kFirst;
  state.is_first = false;
  if (state.ring) state.ring->end_step(state.record.step);
  state.write_step();
  state.record.step = 0;
}

void Recorder::enter(Phase phase) { state_->enter(phase, state_->clock.now()); }
void Recorder::leave() { state_->leave(state_->clock.now()); }

std::uint64_t Recorder::own_ns(Phase phase) {
  if (state_->times.current() == phase) state_->times.settle(state_->clock.now());
  const PhaseTime& time = state_->times.times()[static_cast<std::size_t>(phase)];
  return time.wall_ns - time.delay_ns;
}

std::uint64_t Recorder::begin_event(Operation operation, std::uint16_t group, std::uint32_t sequence,
                                    std::uint64_t bytes, std::uint16_t peer, bool overlapped) {
  Event event;
  event.sequence = sequence;
  set_bytes(event, bytes);
  event.group = group;
  event.peer = peer;
  event.operation = operation;
  event.flags = overlapped ? kOverlapped : 0;
  return state_->begin_event(event, state_->clock.now());
}

void Recorder::end_event(std::uint64_t slot) { state_->end_event(slot, state_->clock.now()); }

// The clock is read once for the event and the phase. The event of a computation lies in its own phase, that of a
// communication in the one around it.
ComputeScope::ComputeScope(Recorder* recorder, Phase phase, Operation operation, int micro_batch)
    : recorder_(recorder) {
  if (recorder_ == nullptr) return;
  Recorder::State& state = *recorder_->state_;
  const std::uint64_t now = state.clock.now();
  state.enter(phase, now);
  Event event;
  event.sequence = static_cast<std::uint32_t>(micro_batch);
  event.operation = operation;
  slot_ = state.begin_event(event, now);
}

ComputeScope::~ComputeScope() {
  if (recorder_ == nullptr) return;
  Recorder::State& state = *recorder_->state_;
  const std::uint64_t now = state.clock.now();
  state.end_event(slot_, now);
  state.leave(now);
}

CommunicationScope::CommunicationScope(const Lane& lane, const CommunicationCall& call) : lane_(lane) {
  if (lane_.recorder == nullptr) return;
  Recorder::State& state = *lane_.recorder->state_;
  const std::uint64_t now = state.clock.now();
  Event event;
  event.sequence = static_cast<std::uint32_t>(call.sequence);
  set_bytes(event, call.bytes);
  event.group = state.index_of_kind[static_cast<std::size_t>(call.group)];
  event.peer = static_cast<std::uint16_t>(call.peer);
  event.operation = call.operation;
  event.flags = lane_.overlapped ? kOverlapped : 0;
  slot_ = state.begin_event(event, now);
  if (!lane_.overlapped) state.enter(communication_phase(call.group), now);
}

CommunicationScope::~CommunicationScope() {
  if (lane_.recorder == nullptr) return;
  Recorder::State& state = *lane_.recorder->state_;
  const std::uint64_t now = state.clock.now();
  state.end_event(slot_, now);
  if (!lane_.overlapped) state.leave(now);
}

}  // namespace convoy::trace
