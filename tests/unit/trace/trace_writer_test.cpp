// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/trace_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "libcore/base/error.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/trace/child.h"
#include "tests/unit/trace/trace_files.h"

namespace convoy::trace {
namespace {

TEST(TraceWriter, WhatIsAppendedIsReadBackInOrder) {
  const support::TmpDir folder;
  const Path file = folder / "rank.trace";
  TraceWriter writer(file, some_header());
  const StepRecord steps[] = {some_step(1), some_step(2)};
  writer.append(std::span<const StepRecord>(steps));
  const Event events[] = {some_event(2, 1), some_event(2, 2), some_event(2, 3)};
  writer.append(std::span<const Event>(events));
  writer.append(std::span<const StepRecord>(steps, 1));

  TraceReader reader(file);
  EXPECT_EQ(reader.header().host, "node-17");
  const support::TraceContent all = support::read_trace(reader);
  ASSERT_EQ(all.steps.size(), 3u);
  EXPECT_EQ(all.steps[1].step, 2u);
  EXPECT_EQ(all.steps[2].step, 1u);
  EXPECT_EQ(all.steps[1][Phase::kForward].delay_ns, 500u);
  ASSERT_EQ(all.events.size(), 3u);
  EXPECT_EQ(all.events[2].sequence, 3u);
  EXPECT_FALSE(all.damage.any());
}

TEST(TraceWriter, RecordsOfManyBlocksNeverStraddleOne) {
  const support::TmpDir folder;
  const Path file = folder / "rank.trace";
  constexpr std::size_t kSteps = 2 * kStepsPerBlock + 3, kEvents = 3 * kEventsPerBlock + 1;
  {
    TraceWriter writer(file, some_header());
    std::vector<Event> events;
    for (std::size_t i = 0; i < kEvents; ++i) events.push_back(some_event(1, static_cast<std::uint32_t>(i)));
    writer.append(std::span<const Event>(events));
    for (std::size_t i = 0; i < kSteps; ++i) {
      const StepRecord step = some_step(i + 1);
      writer.append(std::span(&step, 1));
    }
  }
  const support::TraceContent all = support::read_trace(file);
  ASSERT_EQ(all.steps.size(), kSteps);
  for (std::size_t i = 0; i < kSteps; ++i) ASSERT_EQ(all.steps[i].step, i + 1);
  ASSERT_EQ(all.events.size(), kEvents);
  for (std::size_t i = 0; i < kEvents; ++i) ASSERT_EQ(all.events[i].sequence, i);
  EXPECT_FALSE(all.damage.any());
  // Header, 4 blocks of events, 3 of steps of which the last holds 3 records.
  EXPECT_EQ(std::filesystem::file_size(file), 7 * kBlockBytes + sizeof(BlockHeader) + 3 * sizeof(StepRecord));
}

TEST(TraceWriter, BlocksOfBothKindsStayDenseWhenTheyTakeTurns) {
  const support::TmpDir folder;
  const Path file = folder / "rank.trace";
  TraceWriter writer(file, some_header());
  for (std::uint32_t i = 1; i <= 100; ++i) {
    const StepRecord step = some_step(i);
    const Event event = some_event(i, 1);
    writer.append(std::span(&step, 1));
    writer.append(std::span(&event, 1));
  }
  EXPECT_EQ(support::read_trace(file).steps.size(), 100u);
  EXPECT_LE(std::filesystem::file_size(file), 3 * kBlockBytes);
}

TEST(TraceWriter, ReplacesAFileThatExists) {
  const support::TmpDir folder;
  const Path file = folder.write("rank.trace", std::string(100'000, 'x'));
  TraceWriter writer(file, some_header());
  EXPECT_FALSE(support::read_trace(file).damage.any());
}

TEST(TraceWriter, RefusesAFolderThatIsNotThere) {
  const support::TmpDir folder;
  EXPECT_THROW(TraceWriter(folder / "no/rank.trace", some_header()), EnvironmentError);
}

TEST(TraceWriter, TellsOfAFullDisk) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_THROW(TraceWriter("/dev/full", some_header()), EnvironmentError);
}

TEST(TraceWriter, RefusesAHeaderThatNoReaderWouldTake) {
  const support::TmpDir folder;
  Header header = some_header();
  header.rank = 4;
  EXPECT_THROW(TraceWriter(folder / "rank.trace", header), DataError);
  EXPECT_TRUE(folder.names().empty());
}

// Appends until it is killed; every step carries its number, every event its sequence.
[[noreturn]] void write_for_ever(const Path& file, int ready) {
  TraceWriter writer(file, some_header());
  std::vector<Event> events(700);
  std::uint32_t sequence = 0;
  for (std::uint64_t step = 1;; ++step) {
    const StepRecord record = some_step(step);
    writer.append(std::span(&record, 1));
    for (Event& event : events) event = some_event(1, ++sequence);
    writer.append(std::span<const Event>(events));
    if (step == 1 && ::write(ready, "r", 1) != 1) ::_exit(1);
  }
}

TEST(TraceWriter, AKillAtAnyInstantLeavesAllThatWasAppended) {
  for (int round = 0; round < 20; ++round) {
    const support::TmpDir folder;
    const Path file = folder / "rank.trace";
    Child child([&file](int ready) { write_for_ever(file, ready); });
    ::usleep(static_cast<useconds_t>(500 + 317 * round));
    child.kill();

    const support::TraceContent all = support::read_trace(file);
    EXPECT_FALSE(all.damage.any()) << all.damage.bytes << " bytes in round " << round;
    ASSERT_GE(all.steps.size(), 1u);
    for (std::size_t i = 0; i < all.steps.size(); ++i) ASSERT_EQ(all.steps[i].step, i + 1);
    for (std::size_t i = 0; i < all.events.size(); ++i) ASSERT_EQ(all.events[i].sequence, i + 1);
    // Of the last append a part may be there, of those before it everything.
    ASSERT_GE(all.events.size(), 700 * (all.steps.size() - 1));
  }
}

}  // namespace
}  // namespace convoy::trace
