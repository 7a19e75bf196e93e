// SPDX-License-Identifier: Apache-2.0
// The monotonic clock, read by the processor's counter where the kernel itself trusts it: a third of the price of the
// system call's fast path, which matters to thousands of events a step. Private to the module.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "libcore/trace/recorder.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace convoy::trace {

inline std::uint64_t ticks_now() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

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

inline std::uint64_t Clock::now() const {
  if (!uses_counter()) return now_ns();
  std::uint64_t version, base, ns;
  double rate;
  do {
    version = version_.load(std::memory_order_acquire);
    const Anchor& anchor = anchors_[version % 2];
    base = anchor.ticks.load(std::memory_order_acquire);
    ns = anchor.ns.load(std::memory_order_acquire);
    rate = anchor.ns_per_tick.load(std::memory_order_acquire);
  } while (version_.load(std::memory_order_relaxed) != version);
  const auto elapsed = static_cast<std::int64_t>(ticks_now() - base);
  if (elapsed <= 0) return ns;
  return ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<double>(elapsed) * rate));
}

}  // namespace convoy::trace
