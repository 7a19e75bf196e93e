// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/task_queue.h"

#include "libcore/base/error.h"

namespace convoy::parallel {

TaskQueue::TaskQueue() : thread_([this] { work(); }) {}

TaskQueue::~TaskQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    abandoned_ = std::uncaught_exceptions() > exceptions_;
  }
  added_changed_.notify_one();
  thread_.join();
}

std::int64_t TaskQueue::add(std::function<void()> task) {
  std::int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    number = ++added_;
  }
  added_changed_.notify_one();
  return number;
}

void TaskQueue::wait(std::unique_lock<std::mutex>& lock, std::int64_t number) {
  check(number <= added_, "a task that is waited for has been added");
  done_changed_.wait(lock, [&] { return done_ >= number; });
  if (error_) std::rethrow_exception(error_);
}

void TaskQueue::wait(std::int64_t number) {
  std::unique_lock lock(mutex_);
  wait(lock, number);
}

bool TaskQueue::is_done(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  return done_ >= number && !error_;
}

void TaskQueue::finish() {
  std::unique_lock lock(mutex_);
  wait(lock, added_);
}

void TaskQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    added_changed_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty() || abandoned_) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    if (!error_) {
      lock.unlock();
      std::exception_ptr error;
      try {
        task();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error) error_ = error;
    }
    ++done_;
    done_changed_.notify_one();
  }
}

}  // namespace convoy::parallel
