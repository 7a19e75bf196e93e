// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/reduction_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

using ::testing::ElementsAre;

TEST(ReductionQueue, RunsTheJobsOfEachRoundInTheirOrder) {
  std::vector<std::size_t> seen;
  ReductionQueue queue(3, [&](std::size_t i) { seen.push_back(i); });
  queue.release(1);
  queue.release(3);
  queue.finish();
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
  queue.release(3);
  queue.finish();
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(ReductionQueue, RunsOnAThreadOfItsOwn) {
  std::thread::id id;
  ReductionQueue queue(1, [&](std::size_t) { id = std::this_thread::get_id(); });
  queue.release(1);
  queue.finish();
  EXPECT_NE(id, std::thread::id());
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(ReductionQueue, KeepsTheFirstExceptionForFinishAndRunsNothingAfterIt) {
  std::vector<std::size_t> seen;
  ReductionQueue queue(3, [&](std::size_t i) {
    seen.push_back(i);
    if (i == 1) throw std::runtime_error("lost");
  });
  queue.release(3);
  EXPECT_THROW(queue.finish(), std::runtime_error);
  EXPECT_THAT(seen, ElementsAre(0, 1));
}

TEST(ReductionQueue, EndsInTheMiddleOfARoundAfterWhatWasReleased) {
  std::vector<std::size_t> seen;
  {
    ReductionQueue queue(3, [&](std::size_t i) { seen.push_back(i); });
    queue.release(2);
  }
  EXPECT_THAT(seen, ElementsAre(0, 1));
}

TEST(ReductionQueue, WhileAnExceptionLeavesTheOwnerOnlyTheJobThatRunsEnds) {
  std::atomic<int> begun = 0;
  std::promise<void> may_end;
  std::future<void> end = may_end.get_future();
  std::thread later([&] {
    begun.wait(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the queue is being destroyed by then
    may_end.set_value();
  });
  try {
    ReductionQueue queue(2, [&](std::size_t) {
      ++begun;
      begun.notify_all();
      end.wait();
    });
    queue.release(2);
    begun.wait(0);
    throw std::runtime_error("on the way out");
  } catch (const std::runtime_error&) {
  }
  later.join();
  EXPECT_EQ(begun, 1);
}

TEST(ReductionQueue, RefusesToFinishARoundThatIsNotReleased) {
  ReductionQueue queue(2, [](std::size_t) {});
  queue.release(1);
  EXPECT_THROW(queue.finish(), InternalError);
  EXPECT_THROW(queue.release(3), InternalError);
}

}  // namespace
}  // namespace convoy::parallel
