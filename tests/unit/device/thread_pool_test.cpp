// SPDX-License-Identifier: Apache-2.0
#include "libcore/device/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "libcore/base/error.h"

namespace convoy::device {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::StrEq;
using testing::ThrowsMessage;

TEST(ThreadPool, RunsTheBodyOnceOnEachThread) {
  ThreadPool pool(4);
  std::vector<int> calls(4, 0);
  std::vector<std::thread::id> ids(4);
  pool.run([&](int thread) {
    ++calls[static_cast<std::size_t>(thread)];
    ids[static_cast<std::size_t>(thread)] = std::this_thread::get_id();
  });
  EXPECT_THAT(calls, Each(1));
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[2]);
}

TEST(ThreadPool, WaitsForEveryThreadInManyShortRuns) {
  constexpr int kRuns = 3000;
  ThreadPool pool(3);
  std::vector<int> calls(3, 0);
  for (int run = 0; run < kRuns; ++run) {
    pool.run([&](int thread) { ++calls[static_cast<std::size_t>(thread)]; });
    ASSERT_THAT(calls, Each(run + 1));
  }
}

TEST(ThreadPool, WakesWorkersThatFellAsleep) {
  ThreadPool pool(2);
  std::atomic<int> calls{0};
  for (int run = 0; run < 3; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pool.run([&](int) { ++calls; });
  }
  EXPECT_EQ(calls, 6);
}

TEST(ThreadPool, SplitsIntoContiguousMultiplesOfTheGrain) {
  ThreadPool pool(3);
  std::vector<std::int64_t> begins(3, -1);
  std::vector<std::int64_t> ends(3, -1);
  pool.parallel_for(50, 8, [&](std::int64_t begin, std::int64_t end, int thread) {
    begins[static_cast<std::size_t>(thread)] = begin;
    ends[static_cast<std::size_t>(thread)] = end;
  });
  EXPECT_THAT(begins, ElementsAre(0, 16, 32));  // 7 blocks of 8: 2, 2 and 3, the last one short
  EXPECT_THAT(ends, ElementsAre(16, 32, 50));
}

TEST(ThreadPool, CoversARangeSmallerThanTheTeamOnce) {
  ThreadPool pool(4);
  for (std::int64_t count = 0; count < 12; ++count) {
    std::vector<std::atomic<int>> touched(static_cast<std::size_t>(count));
    pool.parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) ++touched[static_cast<std::size_t>(i)];
    });
    for (const std::atomic<int>& each : touched) EXPECT_EQ(each, 1) << "of " << count;
  }
}

TEST(ThreadPool, RethrowsTheLowestThreadsExceptionAndStaysUsable) {
  ThreadPool pool(3);
  const auto fail = [&] {
    pool.run([](int thread) {
      if (thread > 0) throw std::runtime_error("thread " + std::to_string(thread));
    });
  };
  EXPECT_THAT(fail, ThrowsMessage<std::runtime_error>(StrEq("thread 1")));
  std::atomic<int> calls{0};
  pool.run([&](int) { ++calls; });
  EXPECT_EQ(calls, 3);
}

TEST(ThreadPool, RefusesARunWithinARun) {
  ThreadPool pool(1);
  EXPECT_THROW(pool.run([&](int) { pool.run([](int) {}); }), InternalError);
}

TEST(ThreadPool, RefusesAnEmptyTeam) { EXPECT_THROW(ThreadPool(0), InternalError); }

}  // namespace
}  // namespace convoy::device
