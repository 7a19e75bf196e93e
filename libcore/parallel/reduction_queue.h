// SPDX-License-Identifier: Apache-2.0
// A thread that runs numbered jobs in their order, as far as they have been released.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace convoy::parallel {

class ReductionQueue {
 public:
  // job(i) for i in [0, jobs) of every round, on the queue's thread.
  ReductionQueue(std::size_t jobs, std::function<void(std::size_t)> job);
  // Jobs that were released still run, because peers wait in them, but not while an exception leaves the owner. Waits
  // for the job that runs: one that hangs must end by a time limit of its own.
  ~ReductionQueue();
  ReductionQueue(const ReductionQueue&) = delete;
  ReductionQueue& operator=(const ReductionQueue&) = delete;

  // Jobs [0, count) of this round may run; what the caller wrote before is seen by them. Never fewer than before.
  void release(std::size_t count);
  // Waits for all jobs, and begins the next round. Rethrows the first exception; the jobs after it were not run.
  void finish();

 private:
  void work();

  const std::size_t jobs_;
  const std::function<void(std::size_t)> job_;
  std::mutex mutex_;
  std::condition_variable released_changed_, done_changed_;
  std::size_t released_ = 0, done_ = 0;
  bool stop_ = false, abandoned_ = false;
  const int exceptions_ = std::uncaught_exceptions();
  std::exception_ptr error_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace convoy::parallel
