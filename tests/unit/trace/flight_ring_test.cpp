// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/flight_ring.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "libcore/base/error.h"
#include "libcore/trace/recorder.h"
#include "libcore/trace/trace_reader.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/trace/child.h"
#include "tests/unit/trace/trace_files.h"

namespace convoy::trace {
namespace {

constexpr std::size_t kSlots = 16;

Event begun(std::uint32_t step, std::uint32_t sequence) {
  Event event = some_event(step, sequence);
  event.duration = 0;
  event.flags = 0;
  return event;
}

void record(FlightRing& ring, std::uint32_t step, std::uint32_t sequence) {
  const Event event = begun(step, sequence);
  ring.end(ring.begin(event), event.start_ns + 160);
}

std::vector<std::uint32_t> sequences_of(const std::vector<Event>& events) {
  std::vector<std::uint32_t> sequences;
  for (const Event& event : events) sequences.push_back(event.sequence);
  return sequences;
}
using Sequences = std::vector<std::uint32_t>;

TEST(FlightRing, HasTheEventsOfWholeStepsOldestFirst) {
  const support::TmpDir folder;
  FlightRing ring(folder / "a.ring", kSlots, 3);
  for (std::uint32_t i = 1; i <= 3; ++i) record(ring, 1, i);
  ring.end_step(1);
  for (std::uint32_t i = 4; i <= 5; ++i) record(ring, 2, i);
  const RingEvents found = read_ring(folder / "a.ring");
  EXPECT_EQ(sequences_of(found.events), (Sequences{1, 2, 3}));
  EXPECT_EQ(sequences_of(found.unfinished), (Sequences{4, 5}));
  EXPECT_EQ(found.torn, 0u);
  const Event& event = found.events[1];
  EXPECT_EQ(event.start_ns, 1'000'002u);
  EXPECT_EQ(event.duration_ns(), 160u);
  EXPECT_EQ(event.group, 1u);
  EXPECT_EQ(event.flags, kComplete);
  EXPECT_EQ(event.reserved, 0u);
}

TEST(FlightRing, LeavesOutTheStepThatWasOverwrittenInPart) {
  const support::TmpDir folder;
  FlightRing ring(folder / "a.ring", kSlots, 3);
  for (std::uint32_t step = 1; step <= 5; ++step) {
    for (std::uint32_t i = 0; i < 6; ++i) record(ring, step, 10 * step + i);
    ring.end_step(step);
  }
  // 30 events, 16 slots: the third step has its last four there.
  EXPECT_EQ(sequences_of(read_ring(folder / "a.ring").events),
            (Sequences{40, 41, 42, 43, 44, 45, 50, 51, 52, 53, 54, 55}));
}

TEST(FlightRing, HoldsMoreLapsThanItsLapNumberCanCount) {
  const support::TmpDir folder;
  FlightRing ring(folder / "a.ring", kSlots, 3);
  for (std::uint32_t step = 1; step <= 2 * 300; ++step) {
    for (std::uint32_t i = 0; i < kSlots / 2; ++i) record(ring, step, i);
    ring.end_step(step);
  }
  const RingEvents found = read_ring(folder / "a.ring");
  EXPECT_EQ(found.events.size(), kSlots / 2);
  EXPECT_EQ(found.torn, 0u);
}

TEST(FlightRing, AnEventThatIsUnderWayIsNotComplete) {
  const support::TmpDir folder;
  FlightRing ring(folder / "a.ring", kSlots, 3);
  const std::uint64_t slot = ring.begin(begun(1, 1));
  Event event;
  EXPECT_FALSE(ring.read(slot, event));
  const RingEvents found = read_ring(folder / "a.ring");
  ASSERT_EQ(found.unfinished.size(), 1u);
  EXPECT_EQ(found.unfinished[0].flags & kComplete, 0);
  EXPECT_EQ(found.unfinished[0].duration, 0u);
}

TEST(FlightRing, AnEventWhoseSlotAnotherTookEndsNothing) {
  const support::TmpDir folder;
  FlightRing ring(folder / "a.ring", kSlots, 3);
  const std::uint64_t slot = ring.begin(begun(1, 1));
  for (std::uint32_t i = 2; i <= kSlots; ++i) record(ring, 1, i);
  ring.begin(begun(1, 99));
  ring.end(slot, 5'000'000);
  Event event;
  EXPECT_FALSE(ring.read(slot, event));
  EXPECT_FALSE(ring.read(slot + kSlots, event));
}

TEST(FlightRing, SaysWhichDurationsAreLongerThanItCanHold) {
  FlightRing ring(Path(), kSlots, 3);
  const Event event = begun(7, 1);
  const std::uint64_t longest = Event::kDurationUnit * UINT32_MAX;
  const std::uint64_t held = ring.begin(event), longer = ring.begin(event), reversed = ring.begin(event);
  ring.end(held, event.start_ns + longest);
  ring.end(longer, event.start_ns + longest + Event::kDurationUnit);
  ring.end(reversed, event.start_ns - 1);
  Event found;
  ASSERT_TRUE(ring.read(held, found));
  EXPECT_EQ(found.duration_ns(), longest);
  EXPECT_EQ(found.flags, kComplete);
  ASSERT_TRUE(ring.read(longer, found));
  EXPECT_EQ(found.duration_ns(), longest);
  EXPECT_EQ(found.flags, kComplete | kSaturated);
  EXPECT_EQ(found.step, 7u);
  ASSERT_TRUE(ring.read(reversed, found));
  EXPECT_EQ(found.duration, 0u);
}

TEST(FlightRing, ThatIsAbsentHasNoEvents) {
  const support::TmpDir folder;
  const RingEvents found = read_ring(folder / "a.ring");
  EXPECT_TRUE(found.events.empty());
  EXPECT_EQ(found.torn, 0u);
  EXPECT_THROW(read_ring(folder.path()), EnvironmentError);
}

TEST(FlightRing, TornSlotsAreCountedAndTheOthersThere) {
  const support::TmpDir folder;
  {
    FlightRing ring(folder / "a.ring", kSlots, 3);
    for (std::uint32_t i = 0; i < 6; ++i) record(ring, 1, i);
    ring.end_step(1);
  }
  std::string bytes = support::content_of(folder / "a.ring");
  Event slots[6];
  std::memcpy(slots, bytes.data() + kRingHeaderBytes, sizeof slots);
  slots[0].reserved = 0;                             // taken, and not yet begun
  slots[1].reserved = 2;                             // of a lap that has not come
  slots[2].operation = static_cast<Operation>(200);  // as all that follow: not as it was written
  slots[3].group = 3;
  slots[4].step = 0;
  std::memcpy(bytes.data() + kRingHeaderBytes, slots, sizeof slots);
  const RingEvents found = read_ring(folder.write("a.ring", bytes));
  EXPECT_EQ(sequences_of(found.events), (Sequences{5}));
  EXPECT_EQ(found.torn, 5u);
}

TEST(FlightRing, CutOrChangedAnywhereGivesNothingThatIsWrong) {
  const support::TmpDir folder;
  {
    FlightRing ring(folder / "a.ring", kSlots, 3);
    for (std::uint32_t i = 1; i <= kSlots; ++i) record(ring, i <= 8 ? 1 : 2, i);
    ring.end_step(2);
  }
  const std::string whole = support::content_of(folder / "a.ring");
  ASSERT_EQ(whole.size(), kRingHeaderBytes + kSlots * sizeof(Event));
  const Path changed = folder.write("changed.ring", whole);
  for (std::size_t bit = 0; bit < 8 * 136; ++bit) {
    patch(changed, bit / 8, whole[bit / 8] ^ (1 << bit % 8));
    const RingEvents found = read_ring(changed);
    patch(changed, bit / 8, whole[bit / 8]);
    EXPECT_LE(found.events.size() + found.unfinished.size(), kSlots) << "bit " << bit;
    const bool is_refused = found.events.empty() && found.torn > 0;
    EXPECT_TRUE(is_refused || bit >= 8 * 24) << "bit " << bit;
  }
  for (std::size_t size = whole.size(); size-- > kRingHeaderBytes;) {
    std::filesystem::resize_file(changed, size);
    const RingEvents found = read_ring(changed);
    EXPECT_EQ(found.events.size(), (size - kRingHeaderBytes) / sizeof(Event));
    EXPECT_EQ(found.events.size() + found.torn, kSlots);
  }
  for (const std::size_t size : {4095u, 2000u, 192u, 135u, 24u, 3u, 0u}) {
    std::filesystem::resize_file(changed, size);
    const RingEvents found = read_ring(changed);
    EXPECT_TRUE(found.events.empty());
    EXPECT_GT(found.torn, 0u);
  }
}

TEST(FlightRing, IsNotMadeWhereThereIsNoFolder) {
  const support::TmpDir folder;
  EXPECT_THROW(FlightRing(folder / "no/a.ring", kSlots, 1), EnvironmentError);
  EXPECT_THROW(FlightRing(folder / "a.ring", 15, 1), InternalError);
}

// Records events on two threads until it is killed.
[[noreturn]] void record_for_ever(const Path& directory, int ready) {
  RecorderOptions options;
  options.directory = directory;
  options.ring_events = 4096;
  Recorder recorder(some_header(), options);
  std::jthread beside([&recorder] {
    for (std::int64_t i = 1;; ++i) {
      CommunicationScope call({&recorder, true}, {.group = GroupKind::kData, .sequence = i});
      ::usleep(20);
    }
  });
  for (std::int64_t step = 1;; ++step) {
    recorder.begin_step(step);
    for (int i = 0; i < 100; ++i) ComputeScope compute(&recorder, Phase::kForward, Operation::kForward, i);
    recorder.end_step(1, 0);
    if (step == 30 && ::write(ready, "r", 1) != 1) ::_exit(1);
  }
}

TEST(FlightRing, SurvivesTheKillOfItsProcess) {
  for (int round = 0; round < 5; ++round) {
    const support::TmpDir folder;
    Child child([&folder](int ready) { record_for_ever(folder.path(), ready); });
    ::usleep(static_cast<useconds_t>(1000 + 731 * round));
    // Read while it goes on.
    for (const Event& event : read_ring(folder / "rank-00001.a001.ring").events) EXPECT_GT(event.step, 0u);
    child.kill();

    const RingEvents found = read_ring(folder / "rank-00001.a001.ring");
    EXPECT_LE(found.torn, 2u);  // one a thread
    EXPECT_GT(found.events.size() + found.unfinished.size(), 1000u);
    EXPECT_LE(found.events.size() + found.unfinished.size(), 4096u);
    std::uint32_t micro_batch = 0, sequence = 0;
    int replaced = 0;
    for (const Event& event : found.events) {
      EXPECT_EQ(event.flags & ~kOverlapped, kComplete);
      if ((event.flags & kOverlapped) != 0) {
        EXPECT_EQ(event.group, 2u);
        EXPECT_GT(event.sequence, sequence);
        sequence = event.sequence;
      } else {
        EXPECT_EQ(event.operation, Operation::kForward);
        if (event.sequence != micro_batch % 100) ++replaced;
        micro_batch = event.sequence + 1;
      }
    }
    // A thread that is off its core between taking a slot and filling it, while the other goes once around the ring,
    // puts its event in the place of a newer one.
    EXPECT_LE(replaced, 1);
    const support::TraceContent trace = support::read_trace(folder / "rank-00001.a001.trace");
    EXPECT_FALSE(trace.damage.any());
    EXPECT_GE(trace.steps.size(), 30u);
  }
}

}  // namespace
}  // namespace convoy::trace
