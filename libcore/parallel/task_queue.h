// SPDX-License-Identifier: Apache-2.0
// A thread that runs tasks one after the other, in the order in which they were added.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace convoy::parallel {

class TaskQueue {
 public:
  TaskQueue();
  // Tasks that were added still run, because peers wait in them, but not while an exception leaves the owner. Waits
  // for the task that runs: one that hangs must end by a time limit of its own.
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // What the caller wrote before is seen by the task. Returns the task's number, from 1.
  std::int64_t add(std::function<void()> task);
  // Waits until tasks 1 .. `number` are done. Rethrows the first exception, however often it is
  // asked; no task behind it runs, those that are added later neither. InternalError for a number not yet given out.
  void wait(std::int64_t number);
  bool is_done(std::int64_t number);  // so that wait() returns at once, and without an exception
  // Waits for all.
  void finish();

 private:
  void work();
  void wait(std::unique_lock<std::mutex>& lock, std::int64_t number);

  std::mutex mutex_;
  std::condition_variable added_changed_, done_changed_;
  std::deque<std::function<void()>> tasks_;  // that have not begun
  std::int64_t added_ = 0, done_ = 0;
  bool stop_ = false, abandoned_ = false;
  const int exceptions_ = std::uncaught_exceptions();
  std::exception_ptr error_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace convoy::parallel
