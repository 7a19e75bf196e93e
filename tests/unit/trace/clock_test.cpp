// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace convoy::trace {
namespace {

// What a rate learnt in 2 ms, and a thread that is put aside between two readings, may be wrong by.
constexpr std::uint64_t kTolerance = 300'000;  // ns

// The smallest distance of several tries: one is disturbed by whatever else runs.
std::uint64_t distance_to_the_system_clock(const Clock& clock) {
  std::uint64_t smallest = UINT64_MAX;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t before = now_ns(), ours = clock.now(), after = now_ns();
    const std::uint64_t distance = ours < before ? before - ours : ours > after ? ours - after : 0;
    smallest = std::min(smallest, distance);
  }
  return smallest;
}

TEST(Clock, IsTheMonotonicClock) {
  Clock clock;
  EXPECT_LT(distance_to_the_system_clock(clock), kTolerance);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(distance_to_the_system_clock(clock), kTolerance);
  const std::uint64_t before = now_ns(), adjusted = clock.adjust();
  EXPECT_GE(adjusted, before);
  EXPECT_LE(adjusted, now_ns());
  EXPECT_LT(distance_to_the_system_clock(clock), kTolerance / 10);
}

TEST(Clock, IsReadByOthersWhileItIsAdjusted) {
  Clock clock;
  const std::uint64_t begin = now_ns();
  std::atomic<bool> stop{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop.load()) {
        const std::uint64_t now = clock.now();
        ASSERT_GT(now + kTolerance, begin);
        ASSERT_LT(now, begin + 100'000'000'000);
      }
    });
  }
  for (int i = 0; i < 20'000; ++i) clock.adjust();
  stop.store(true);
}

}  // namespace
}  // namespace convoy::trace
