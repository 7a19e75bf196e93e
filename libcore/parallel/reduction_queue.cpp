// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/reduction_queue.h"

#include <utility>

#include "libcore/base/error.h"

namespace convoy::parallel {

ReductionQueue::ReductionQueue(std::size_t jobs, std::function<void(std::size_t)> job)
    : jobs_(jobs), job_(std::move(job)), thread_([this] { work(); }) {}

ReductionQueue::~ReductionQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    abandoned_ = std::uncaught_exceptions() > exceptions_;
  }
  released_changed_.notify_one();
  thread_.join();
}

void ReductionQueue::release(std::size_t count) {
  {
    const std::lock_guard lock(mutex_);
    check(count >= released_ && count <= jobs_, "jobs are released in order");
    if (count == released_) return;
    released_ = count;
  }
  released_changed_.notify_one();
}

void ReductionQueue::finish() {
  std::unique_lock lock(mutex_);
  check(released_ == jobs_, "a round is finished after all of its jobs were released");
  done_changed_.wait(lock, [this] { return done_ == jobs_; });
  released_ = done_ = 0;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ReductionQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    released_changed_.wait(lock, [this] { return stop_ || done_ < released_; });
    if (done_ == released_ || abandoned_) return;
    if (!error_) {
      const std::size_t next = done_;
      lock.unlock();
      std::exception_ptr error;
      try {
        job_(next);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
    }
    if (++done_ == jobs_) done_changed_.notify_one();
  }
}

}  // namespace convoy::parallel
