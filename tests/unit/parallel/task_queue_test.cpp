// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/task_queue.h"

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

// A task that notes its number.
std::function<void()> noting(std::vector<int>& seen, int number) {
  return [&seen, number] { seen.push_back(number); };
}

TEST(TaskQueue, RunsTasksInTheirOrder) {
  std::vector<int> seen;
  TaskQueue queue;
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(queue.add(noting(seen, i)), i);
  queue.finish();
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
  EXPECT_EQ(queue.add(noting(seen, 4)), 4);
  queue.finish();
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4));
}

TEST(TaskQueue, WaitsForOneTaskWithoutThoseBehindIt) {
  std::promise<void> may_end;
  std::future<void> end = may_end.get_future();
  std::vector<int> seen;
  TaskQueue queue;
  queue.add(noting(seen, 1));
  queue.add([&] { end.wait(); });
  queue.wait(1);
  EXPECT_THAT(seen, ElementsAre(1));
  EXPECT_TRUE(queue.is_done(1));
  EXPECT_FALSE(queue.is_done(2));
  may_end.set_value();
  queue.wait(2);
  EXPECT_TRUE(queue.is_done(2));
  EXPECT_THROW(queue.wait(3), InternalError);
}

TEST(TaskQueue, RunsOnAThreadOfItsOwn) {
  std::thread::id id;
  TaskQueue queue;
  queue.add([&] { id = std::this_thread::get_id(); });
  queue.finish();
  EXPECT_NE(id, std::thread::id());
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(TaskQueue, KeepsTheFirstExceptionForWhoWaitsAndRunsNothingAfterIt) {
  std::vector<int> seen;
  TaskQueue queue;
  queue.add(noting(seen, 1));
  queue.add([] { throw std::runtime_error("lost"); });
  queue.add(noting(seen, 3));
  EXPECT_THROW(queue.finish(), std::runtime_error);
  EXPECT_THAT(seen, ElementsAre(1));
}

// A collective behind one that failed would be out of step with those of the peers.
TEST(TaskQueue, WhoHearsOfAnExceptionBeforeTheQueueIsEmptyLeavesTheRestUnrun) {
  std::promise<void> may_fail;
  std::future<void> fail = may_fail.get_future();
  std::vector<int> seen;
  TaskQueue queue;
  queue.add([&] {
    fail.wait();
    throw std::runtime_error("lost");
  });
  queue.add([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  queue.add(noting(seen, 3));
  may_fail.set_value();
  EXPECT_THROW(queue.wait(1), std::runtime_error);
  queue.add(noting(seen, 4));
  EXPECT_THROW(queue.finish(), std::runtime_error);
  EXPECT_TRUE(seen.empty());
}

TEST(TaskQueue, ATaskAfterAnExceptionIsNotDoneUntilWhoeverWaitsHasHeardOfIt) {
  TaskQueue queue;
  queue.add([] { throw std::runtime_error("lost"); });
  queue.add([] {});
  EXPECT_THROW(
      {
        while (!queue.is_done(2)) queue.wait(2);
      },
      std::runtime_error);
}

TEST(TaskQueue, EndsAfterWhatWasAdded) {
  std::vector<int> seen;
  {
    TaskQueue queue;
    queue.add(noting(seen, 1));
    queue.add(noting(seen, 2));
  }
  EXPECT_THAT(seen, ElementsAre(1, 2));
}

TEST(TaskQueue, WhileAnExceptionLeavesTheOwnerOnlyTheTaskThatRunsEnds) {
  std::atomic<int> begun = 0;
  std::promise<void> may_end;
  std::future<void> end = may_end.get_future();
  std::thread later([&] {
    begun.wait(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the queue is being destroyed by then
    may_end.set_value();
  });
  const auto task = [&] {
    ++begun;
    begun.notify_all();
    end.wait();
  };
  try {
    TaskQueue queue;
    queue.add(task);
    queue.add(task);
    begun.wait(0);
    throw std::runtime_error("on the way out");
  } catch (const std::runtime_error&) {
  }
  later.join();
  EXPECT_EQ(begun, 1);
}

}  // namespace
}  // namespace convoy::parallel
