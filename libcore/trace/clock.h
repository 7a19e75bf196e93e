// SPDX-License-Identifier: Apache-2.0
// The monotonic clock, read by the processor's counter where the kernel itself trusts it: a third of the price of the
// system call's fast path, which matters to thousands of events a step. Private to the module.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace convoy::trace {

class Clock {
 public:
  // Takes 2 ms to learn the counter's rate.
  Clock();

  // Any thread. May differ from now_ns() by as much as the counter drifts between two calls of adjust().
  std::uint64_t now() const;
  // Sets the counter's time right again, from one thread at a time; returns now_ns().
  std::uint64_t adjust();
  bool uses_counter() const { return uses_counter_.load(std::memory_order_relaxed); }

 private:
  struct Anchor {
    std::atomic<std::uint64_t> ticks{0}, ns{0};
    std::atomic<double> ns_per_tick{0.0};
  };
  void publish(std::uint64_t ticks, std::uint64_t ns, double ns_per_tick);

  // The latest of two anchors counts: while one is read the other is written.
  std::array<Anchor, 2> anchors_;
  std::atomic<std::uint64_t> version_{0};
  std::atomic<bool> uses_counter_{false};
  std::uint64_t first_ticks_ = 0, first_ns_ = 0;
  double first_rate_ = 0.0;
};

}  // namespace convoy::trace
