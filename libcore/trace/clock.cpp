// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/clock.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace convoy::trace {
namespace {

constexpr long kCalibrationNs = 2'000'000;
constexpr int kTries = 5;
// A clock that is disciplined differs from the counter by 500 ppm at most; more is a counter that jumped.
constexpr double kLargestDrift = 2e-3;

#if defined(__x86_64__)
// The counter runs at one rate on all cores, and the kernel has found so too.
bool counter_is_steady() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || (d & (1u << 8)) == 0) return false;
  std::ifstream source("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return source >> name && name == "tsc";
}
#else
bool counter_is_steady() { return false; }
#endif

struct Pair {
  std::uint64_t ticks = 0, ns = 0;
};

// Both at one instant: the try that was interrupted least.
Pair read_both() {
  Pair best;
  std::uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = ticks_now(), ns = now_ns(), after = ticks_now();
    if (after < before || after - before >= shortest) continue;
    shortest = after - before;
    best = {before + shortest / 2, ns};
  }
  return best;
}

}  // namespace

std::uint64_t now_ns() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

Clock::Clock() {
  if (!counter_is_steady()) return;
  const Pair first = read_both();
  const timespec wait = {.tv_sec = 0, .tv_nsec = kCalibrationNs};
  ::nanosleep(&wait, nullptr);
  const Pair second = read_both();
  if (second.ticks <= first.ticks || second.ns <= first.ns) return;
  first_ticks_ = first.ticks;
  first_ns_ = first.ns;
  first_rate_ = static_cast<double>(second.ns - first.ns) / static_cast<double>(second.ticks - first.ticks);
  publish(second.ticks, second.ns, first_rate_);
  uses_counter_.store(true, std::memory_order_relaxed);
}

void Clock::publish(std::uint64_t ticks, std::uint64_t ns, double ns_per_tick) {
  const std::uint64_t version = version_.load(std::memory_order_relaxed) + 1;
  Anchor& anchor = anchors_[version % 2];
  anchor.ticks.store(ticks, std::memory_order_release);
  anchor.ns.store(ns, std::memory_order_release);
  anchor.ns_per_tick.store(ns_per_tick, std::memory_order_release);
  version_.store(version, std::memory_order_release);
}

std::uint64_t Clock::adjust() {
  if (!uses_counter()) return now_ns();
  const Pair both = read_both();
  // Over so short a time the first rate is as good, and a pair's error counts less.
  if (both.ns < first_ns_ + 10 * kCalibrationNs) {
    publish(both.ticks, both.ns, first_rate_);
    return both.ns;
  }
  const double rate = static_cast<double>(both.ns - first_ns_) /
                      static_cast<double>(static_cast<std::int64_t>(both.ticks - first_ticks_));
  if (std::abs(rate / first_rate_ - 1.0) < kLargestDrift) {
    publish(both.ticks, both.ns, rate);
  } else {
    uses_counter_.store(false, std::memory_order_relaxed);
  }
  return both.ns;
}

}  // namespace convoy::trace
