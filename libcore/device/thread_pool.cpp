// SPDX-License-Identifier: Apache-2.0
// A run is a generation: the caller publishes the body and raises the generation, workers that see it run the body and
// count down. Both sides spin shortly before they sleep, because ops follow each other within microseconds during a
// step.
#include "libcore/device/thread_pool.h"

#include <omp.h>

#include <atomic>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "libcore/base/error.h"

namespace convoy::device {
namespace {

constexpr int kSpins = 2000;  // some 20 to 60 microseconds of pause instructions

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Returns when `value` differs from `old`.
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

struct ThreadPool::Team {
  std::atomic<std::uint32_t> generation{0};
  std::atomic<std::uint32_t> running{0};
  bool stop = false;
  bool busy = false;
  Erased body = nullptr;
  void* context = nullptr;
  std::vector<std::exception_ptr> failures;  // one a thread
  std::vector<std::thread> workers;

  void call(int thread) {
    try {
      body(context, thread);
    } catch (...) {
      failures[static_cast<std::size_t>(thread)] = std::current_exception();
    }
  }

  void work(int thread) {
    omp_set_num_threads(1);
    std::uint32_t seen = 0;
    for (;;) {
      wait_for_change(generation, seen);
      ++seen;
      if (stop) return;
      call(thread);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) running.notify_one();
    }
  }

  void raise_generation() {
    generation.fetch_add(1, std::memory_order_release);
    generation.notify_all();
  }

  void wait_for_workers() {
    for (std::uint32_t left = running.load(std::memory_order_acquire); left != 0;
         left = running.load(std::memory_order_acquire)) {
      wait_for_change(running, left);
    }
  }

  void end() {
    stop = true;
    raise_generation();
    for (std::thread& worker : workers) worker.join();
  }

  void rethrow_first() {
    for (std::exception_ptr& failure : failures) {
      if (failure == nullptr) continue;
      const std::exception_ptr first = failure;
      for (std::exception_ptr& each : failures) each = nullptr;
      std::rethrow_exception(first);
    }
  }
};

ThreadPool::ThreadPool(int threads) : size_(threads), team_(std::make_unique<Team>()) {
  check(threads >= 1, "a team has at least one thread");
  omp_set_num_threads(1);  // products that the caller makes itself run on it alone
  team_->failures.resize(static_cast<std::size_t>(threads));
  try {
    for (int thread = 1; thread < threads; ++thread) {
      team_->workers.emplace_back([team = team_.get(), thread] { team->work(thread); });
    }
  } catch (const std::system_error&) {
    team_->end();
    throw EnvironmentError("cannot start " + std::to_string(threads - 1) + " threads; use fewer (--threads)");
  }
}

ThreadPool::~ThreadPool() { team_->end(); }

void ThreadPool::run_erased(Erased body, void* context) {
  Team& team = *team_;
  check(!team.busy, "a thread pool runs one body at a time");
  team.busy = true;
  team.body = body;
  team.context = context;
  team.running.store(static_cast<std::uint32_t>(size_ - 1), std::memory_order_relaxed);
  if (size_ > 1) team.raise_generation();
  team.call(0);
  team.wait_for_workers();
  team.busy = false;
  team.rethrow_first();
}

}  // namespace convoy::device
