// SPDX-License-Identifier: Apache-2.0
// A fixed team of std::threads. Work is split statically, so which thread computes what is a function of (work, team size):
// the same number of threads gives the same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace convoy::device {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // the caller is thread 0; threads - 1 are started, each with OpenMP limited to itself
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  // Calls body(thread) on every thread of the team and waits for all. One caller at a time. An exception of any thread is
  // rethrown here, the lowest thread's first. Allocates nothing.
  template <class Body>
  void run(Body&& body) {
    run_erased([](void* context, int thread) { (*static_cast<std::remove_reference_t<Body>*>(context))(thread); }, &body);
  }

  // Splits [0, count) into at most size() contiguous ranges, each but the last a multiple of `grain` long, and calls
  // body(begin, end, thread). Runs on the caller alone when one range results.
  template <class Body>
  void parallel_for(std::int64_t count, std::int64_t grain, Body&& body) {
    const std::int64_t blocks = (count + grain - 1) / grain;
    const std::int64_t parts = blocks < size_ ? blocks : size_;
    if (parts <= 1) {
      if (count > 0) body(std::int64_t{0}, count, 0);
      return;
    }
    run([&](int thread) {
      if (thread >= parts) return;
      const std::int64_t begin = blocks * thread / parts * grain;
      const std::int64_t end = blocks * (thread + 1) / parts * grain;
      if (begin < count) body(begin, end < count ? end : count, thread);
    });
  }

 private:
  using Erased = void (*)(void* context, int thread);
  void run_erased(Erased body, void* context);

  struct Team;
  int size_;
  std::unique_ptr<Team> team_;
};

}  // namespace convoy::device
