// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "libcore/trace/flight_ring.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/trace/trace_files.h"

namespace convoy::trace {
namespace {

using std::chrono::microseconds;

// Waits by looking at the clock: a sleep may be as short as it says, and longer by much.
void work(microseconds time) {
  const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(time.count()) * 1000;
  while (now_ns() < until) {
  }
}

RecorderOptions options_in(const support::TmpDir& folder) { return {.directory = folder.path()}; }
Path trace_in(const support::TmpDir& folder) { return folder / "rank-00001.a001.trace"; }
Path ring_in(const support::TmpDir& folder) { return folder / "rank-00001.a001.ring"; }

std::uint64_t sum_of(const StepRecord& record) {
  std::uint64_t sum = 0;
  for (const PhaseTime& phase : record.phases) sum += phase.wall_ns;
  return sum;
}

TEST(Recorder, AStepHasTheTimeOfItsPhases) {
  const support::TmpDir folder;
  {
    Recorder recorder(some_header(), options_in(folder));
    recorder.begin_step(5);
    {
      PhaseScope forward(&recorder, Phase::kForward);
      work(microseconds(2000));
      CommunicationScope call({&recorder, false}, {.operation = Operation::kAllReduce, .group = GroupKind::kTensor});
      work(microseconds(1000));
    }
    work(microseconds(500));
    recorder.end_step(4096, kSaved);
  }
  const support::TraceContent all = support::read_trace(trace_in(folder));
  ASSERT_EQ(all.steps.size(), 1u);
  const StepRecord& record = all.steps[0];
  EXPECT_EQ(record.step, 5u);
  EXPECT_EQ(record.tokens, 4096u);
  EXPECT_EQ(record.flags, std::uint32_t{kSaved} | kFirst);
  EXPECT_GE(record[Phase::kForward].wall_ns, 1'990'000u);
  EXPECT_GE(record[Phase::kTensorComm].wall_ns, 990'000u);
  EXPECT_GE(record[Phase::kOther].wall_ns, 490'000u);
  EXPECT_EQ(sum_of(record), record.duration_ns);
  EXPECT_EQ(record[Phase::kBackward].wall_ns, 0u);
}

TEST(Recorder, OnlyTheFirstStepIsFlaggedAsFirst) {
  const support::TmpDir folder;
  Recorder recorder(some_header(), options_in(folder));
  for (int step = 1; step <= 3; ++step) {
    recorder.begin_step(step);
    recorder.end_step(0, 0);
  }
  const support::TraceContent all = support::read_trace(trace_in(folder));
  ASSERT_EQ(all.steps.size(), 3u);
  EXPECT_EQ(all.steps[0].flags, kFirst);
  EXPECT_EQ(all.steps[1].flags, 0u);
}

TEST(Recorder, WhatEndsOutsideOfAStepHasNoRecord) {
  const support::TmpDir folder;
  Recorder recorder(some_header(), options_in(folder));
  recorder.end_step(1, 0);
  recorder.leave();
  recorder.enter(Phase::kData);
  recorder.end_event(recorder.begin_event(Operation::kBarrier, 0, 1, 0, 0, false));
  recorder.begin_step(0);  // no step has this number
  recorder.end_step(1, 0);
  EXPECT_TRUE(support::read_trace(trace_in(folder)).steps.empty());
  EXPECT_TRUE(read_ring(ring_in(folder)).events.empty());
  recorder.begin_step(1);
  recorder.end_step(1, 0);
  EXPECT_EQ(recorder.begin_event(Operation::kBarrier, 0, 1, 0, 0, false), FlightRing::kNoSlot);
}

TEST(Recorder, AnExceptionOutOfNestedScopesLeavesItInOrder) {
  const support::TmpDir folder;
  Recorder recorder(some_header(), options_in(folder));
  recorder.begin_step(1);
  try {
    ComputeScope compute(&recorder, Phase::kBackward, Operation::kBackward, 0);
    PhaseScope data(&recorder, Phase::kData);
    CommunicationScope call({&recorder, false}, {.operation = Operation::kSend, .group = GroupKind::kData});
    throw std::runtime_error("a lost peer");
  } catch (const std::runtime_error&) {
  }
  recorder.begin_step(2);
  work(microseconds(200));
  recorder.end_step(1, 0);
  const support::TraceContent all = support::read_trace(trace_in(folder));
  ASSERT_EQ(all.steps.size(), 1u);
  EXPECT_EQ(all.steps[0].step, 2u);
  EXPECT_EQ(all.steps[0][Phase::kOther].wall_ns, all.steps[0].duration_ns);
}

TEST(Recorder, WithoutAFolderPhasesAreMeasuredAndNothingIsWritten) {
  Recorder recorder(some_header(), {.scheduling = "/no/such/schedstat"});
  recorder.begin_step(1);
  {
    ComputeScope compute(&recorder, Phase::kForward, Operation::kForward, 0);
    work(microseconds(1000));
  }
  EXPECT_GE(recorder.own_ns(Phase::kForward), 990'000u);
  EXPECT_EQ(recorder.begin_event(Operation::kBarrier, 0, 1, 0, 0, false), FlightRing::kNoSlot);
  recorder.end_step(1, 0);
}

TEST(Recorder, OfNothingIsAllowedInEveryScope) {
  PhaseScope phase(nullptr, Phase::kData);
  ComputeScope compute(nullptr, Phase::kForward, Operation::kForward, 0);
  CommunicationScope call({}, {});
}

// The run-delay is what the file says, whose content the test changes.
TEST(Recorder, OwnWorkIsWithoutTheDelayAndTheCommunicationInIt) {
  const support::TmpDir folder;
  const Path scheduling = folder.write("schedstat", "0 1000000 0\n");
  Recorder recorder(some_header(), {.scheduling = scheduling});
  recorder.begin_step(1);
  const std::uint64_t begin = now_ns();
  recorder.enter(Phase::kForward);
  work(microseconds(3000));
  folder.write("schedstat", "0 2500000 0\n");
  {
    CommunicationScope call({&recorder, false}, {.group = GroupKind::kTensor});
    work(microseconds(5000));
  }
  const std::uint64_t own = recorder.own_ns(Phase::kForward);
  const std::uint64_t passed = now_ns() - begin;
  recorder.leave();
  EXPECT_GE(own, 1'490'000u);
  EXPECT_LE(own, passed - 5'000'000 - 1'500'000 + 10'000);
  recorder.end_step(1, 0);
}

TEST(Recorder, AFolderThatIsNotThereIsOneWarningAndNoException) {
  const support::TmpDir folder;
  testing::internal::CaptureStderr();
  {
    Recorder recorder(some_header(), {.directory = folder / "missing"});
    for (int step = 1; step < 4; ++step) {
      recorder.begin_step(step);
      CommunicationScope call({&recorder, false}, {});
      recorder.end_step(1, 0);
    }
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, testing::HasSubstr("no trace any more"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST(Recorder, WithoutARingTheWindowIsWrittenAllTheSame) {
  const support::TmpDir folder;
  ASSERT_EQ(::mkdir(ring_in(folder).c_str(), 0777), 0);
  testing::internal::CaptureStderr();
  RecorderOptions options = options_in(folder);
  options.window = {.first = 1, .last = 1};
  Recorder recorder(some_header(), options);
  recorder.begin_step(1);
  { ComputeScope compute(&recorder, Phase::kForward, Operation::kForward, 3); }
  recorder.end_step(1, 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("will not outlive the process"));
  EXPECT_EQ(support::read_trace(trace_in(folder)).events.size(), 1u);
}

TEST(RecorderWindow, HasTheEventsOfItsStepsAndNoOthers) {
  const support::TmpDir folder;
  RecorderOptions options = options_in(folder);
  options.window = {.first = 2, .last = 3};
  Recorder recorder(some_header(), options);
  for (int step = 1; step <= 4; ++step) {
    recorder.begin_step(step);
    {
      ComputeScope compute(&recorder, Phase::kBackward, Operation::kBackward, 7);
      CommunicationScope call(
          {&recorder, false},
          {.operation = Operation::kSend, .group = GroupKind::kData, .sequence = 40 + step, .bytes = 33, .peer = 1});
      work(microseconds(100));
    }
    recorder.end_step(1, 0);
  }
  const support::TraceContent all = support::read_trace(trace_in(folder));
  ASSERT_EQ(all.events.size(), 4u);
  const Event& compute = all.events[0];
  EXPECT_EQ(compute.step, 2u);
  EXPECT_EQ(compute.operation, Operation::kBackward);
  EXPECT_EQ(compute.sequence, 7u);
  EXPECT_EQ(compute.group, Event::kNoGroup);
  EXPECT_EQ(compute.phase, Phase::kBackward);
  const Event& send = all.events[3];
  EXPECT_EQ(send.step, 3u);
  EXPECT_EQ(send.operation, Operation::kSend);
  EXPECT_EQ(send.sequence, 43u);
  EXPECT_EQ(send.group, 2u);
  EXPECT_EQ(send.peer, 1u);
  EXPECT_EQ(send.bytes, 3u);  // 33 bytes in units of 16
  EXPECT_EQ(send.phase, Phase::kBackward);
  EXPECT_EQ(send.flags, kComplete);
  EXPECT_GE(send.duration_ns(), 95'000u);
  for (const Event& event : all.events) {
    const StepRecord& step = all.steps[event.step - 1];
    EXPECT_GE(event.start_ns, step.start_ns);
    EXPECT_LE(event.start_ns + event.duration_ns(), step.start_ns + step.duration_ns + 8 + 1000);
  }
  for (const StepRecord& step : all.steps) EXPECT_EQ(step.events_dropped, 0u);
}

TEST(RecorderWindow, CountsWhatTheRingLostAndWhatHadNotEnded) {
  const support::TmpDir folder;
  RecorderOptions options = options_in(folder);
  options.window = {.first = 1, .last = 2};
  options.ring_events = 64;
  Recorder recorder(some_header(), options);
  recorder.begin_step(1);
  for (std::uint32_t i = 1; i <= 100; ++i)
    recorder.end_event(recorder.begin_event(Operation::kBarrier, 0, i, 0, 0, false));
  recorder.end_step(1, 0);
  recorder.begin_step(2);
  const std::uint64_t open = recorder.begin_event(Operation::kBarrier, 0, 101, 0, 0, true);
  recorder.end_event(recorder.begin_event(Operation::kBarrier, 0, 102, 0, 0, false));
  recorder.end_step(1, 0);
  recorder.end_event(open);
  const support::TraceContent all = support::read_trace(trace_in(folder));
  ASSERT_EQ(all.steps.size(), 2u);
  EXPECT_EQ(all.steps[0].events_dropped, 36u);
  EXPECT_EQ(all.steps[1].events_dropped, 1u);
  ASSERT_EQ(all.events.size(), 65u);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(all.events[i].sequence, 37 + i);
  EXPECT_EQ(all.events[64].sequence, 102u);
}

TEST(RecorderWindow, OfMoreEventsThanABlockHoldsIsWrittenWhole) {
  const support::TmpDir folder;
  RecorderOptions options = options_in(folder);
  options.window = {.first = 1, .last = 1};
  Recorder recorder(some_header(), options);
  constexpr std::uint32_t kEvents = 5000;
  recorder.begin_step(1);
  for (std::uint32_t i = 0; i < kEvents; ++i)
    recorder.end_event(recorder.begin_event(Operation::kBarrier, 0, i, 0, 0, false));
  recorder.end_step(1, 0);
  const support::TraceContent all = support::read_trace(trace_in(folder));
  ASSERT_EQ(all.events.size(), kEvents);
  for (std::uint32_t i = 0; i < kEvents; ++i) ASSERT_EQ(all.events[i].sequence, i);
}

TEST(Recorder, EventsOfManyThreadsAreAllThere) {
  const support::TmpDir folder;
  RecorderOptions options = options_in(folder);
  options.window = {.first = 1, .last = 1};
  Recorder recorder(some_header(), options);
  constexpr std::uint32_t kThreads = 4, kEach = 3000;
  recorder.begin_step(1);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&recorder, t] {
        for (std::uint32_t i = 0; i < kEach; ++i) {
          CommunicationScope call(
              {&recorder, true},
              {.operation = Operation::kAllReduce, .group = GroupKind::kData, .sequence = t * kEach + i});
        }
      });
    }
    for (int i = 0; i < 1000; ++i) {
      PhaseScope phase(&recorder, i % 2 == 0 ? Phase::kForward : Phase::kBackward);
    }
  }
  recorder.end_step(1, 0);
  const support::TraceContent all = support::read_trace(trace_in(folder));
  EXPECT_EQ(all.steps.at(0).events_dropped, 0u);
  EXPECT_EQ(all.steps[0][Phase::kDataComm].wall_ns, 0u);  // beside the training thread
  std::vector<std::uint32_t> sequences;
  for (const Event& event : all.events) {
    EXPECT_EQ(event.flags, std::uint8_t{kComplete} | kOverlapped);
    sequences.push_back(event.sequence);
  }
  std::sort(sequences.begin(), sequences.end());
  std::vector<std::uint32_t> expected(kThreads * kEach);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(sequences, expected);
}

// The ring is small and the window wide, so that slots are overwritten while the step's end copies them.
TEST(Recorder, AWindowIsCopiedWhileOthersOverwriteTheRing) {
  const support::TmpDir folder;
  RecorderOptions options = options_in(folder);
  options.window = {.first = 1, .last = 1000};
  options.ring_events = 256;
  Recorder recorder(some_header(), options);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&recorder](const std::stop_token& stop) {
        for (std::int64_t i = 0; !stop.stop_requested(); ++i)
          CommunicationScope call({&recorder, true}, {.group = GroupKind::kTensor, .sequence = i});
      });
    }
    for (int step = 1; step <= 200; ++step) {
      recorder.begin_step(step);
      work(microseconds(50));
      recorder.end_step(1, 0);
    }
  }
  const support::TraceContent all = support::read_trace(trace_in(folder));
  EXPECT_FALSE(all.damage.any());
  EXPECT_EQ(all.steps.size(), 200u);
  EXPECT_GT(all.events.size(), 0u);
  for (const Event& event : all.events) {
    EXPECT_EQ(event.group, 1u);
    EXPECT_EQ(event.flags, std::uint8_t{kComplete} | kOverlapped);
  }
}

}  // namespace
}  // namespace convoy::trace
