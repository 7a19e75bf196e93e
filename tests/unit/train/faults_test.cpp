// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/faults.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <thread>

namespace convoy::train {
namespace {

using trace::Phase;

constexpr double kWorkSeconds = 0.02;

// Work of the processor's own time, however many others want it.
void work(double seconds = kWorkSeconds) {
  const auto used = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  for (const double start = used(); used() - start < seconds;) {
  }
}

Faults slow(const std::string& what, int rank = 0) {
  config::Fault fault;
  EXPECT_EQ(config::parse_fault(what, fault), "");
  return {{fault}, rank, ""};
}

// Seconds of forward that the recorder holds own work, of work that is done under `faults` in `step`.
double own_seconds(Faults faults, std::int64_t step = 1) {
  trace::Recorder recorder({}, {});
  faults.begin_step(step);
  recorder.begin_step(step);
  const trace::PhaseScope scope(&recorder, Phase::kForward);
  faults.run(&recorder, Phase::kForward, [&] {
    work();
    const trace::PhaseScope waiting(&recorder, Phase::kTensorComm);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  });
  return 1e-9 * static_cast<double>(recorder.own_ns(Phase::kForward));
}

// Of a sleep's end and of a processor that others share; own work is what is left of both.
constexpr double kRelative = 0.15;

TEST(SlowFault, StretchesThePhasesOwnWorkByItsFactorAndNotItsWaiting) {
  EXPECT_NEAR(own_seconds(Faults()), kWorkSeconds, kRelative * kWorkSeconds);
  EXPECT_NEAR(own_seconds(slow("slow:rank=0,factor=2.5,phase=forward")), 2.5 * kWorkSeconds,
              kRelative * 2.5 * kWorkSeconds);
  EXPECT_NEAR(own_seconds(slow("slow:rank=0,sleep=50ms,phase=forward")), kWorkSeconds + 0.05,
              kRelative * (kWorkSeconds + 0.05));
}

// Of parts so short that the end of a sleep, which comes late by some 0.1 ms, would be half as much again.
TEST(SlowFault, MakesUpForSleepsThatEndLate) {
  constexpr int kParts = 100;
  trace::Recorder recorder({}, {});
  Faults faults = slow("slow:rank=0,factor=2,phase=forward");
  faults.begin_step(1);
  recorder.begin_step(1);
  const trace::PhaseScope scope(&recorder, Phase::kForward);
  for (int i = 0; i < kParts; ++i) faults.run(&recorder, Phase::kForward, [] { work(kWorkSeconds / kParts); });
  EXPECT_NEAR(1e-9 * static_cast<double>(recorder.own_ns(Phase::kForward)), 2.0 * kWorkSeconds,
              kRelative * 2.0 * kWorkSeconds);
}

TEST(SlowFault, StrikesItsRankItsPhaseAndItsStepsAlone) {
  for (const Faults& other : {slow("slow:rank=0,factor=3,phase=forward", 1), slow("slow:rank=0,factor=3,phase=backward"),
                              slow("slow:rank=0,factor=3,phase=forward,steps=2-3")})
    EXPECT_LT(own_seconds(other), 2.0 * kWorkSeconds);
  EXPECT_GT(own_seconds(slow("slow:rank=0,factor=3,phase=forward,steps=2-3"), 3), 2.5 * kWorkSeconds);
}

TEST(SlowFault, WithoutARecorderOnlyASleepSlowsDown) {
  const auto start = std::chrono::steady_clock::now();
  Faults faults = slow("slow:rank=0,sleep=20ms,phase=data");
  faults.begin_step(1);
  bool done = false;
  faults.run(nullptr, Phase::kData, [&] { done = true; });
  EXPECT_TRUE(done);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));
}

}  // namespace
}  // namespace convoy::train
