// SPDX-License-Identifier: Apache-2.0
// The events of the last steps, in a file that is mapped into memory: the kernel has it whatever happens to the
// process. docs/formats.md has the layout in prose. Private to the module; read_ring() in trace_reader.h is what others
// call.
//
// Threads take slots by counting up. A slot's last word is set last: with the slot's lap when it has begun, again with
// kComplete when it has ended. A slot whose lap is not the one that the count tells was caught while it was written.
// A thread that is off its core for a whole lap between taking a slot and filling it puts its event over a newer one.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "libcore/base/file.h"
#include "libcore/trace/format.h"

namespace convoy::trace {

inline constexpr std::uint32_t kRingMagic = 0x31474e52;  // "RNG1"
inline constexpr std::size_t kRingHeaderBytes = 4096;    // slots begin on a page
inline constexpr std::size_t kMostRingEvents = std::size_t{1} << 26;

struct RingHeader {
  std::uint32_t magic = kRingMagic;
  std::uint32_t crc = 0;  // CRC-32C of the three that follow
  std::uint32_t version = kFormatVersion;
  std::uint32_t groups = 0;    // of the trace's header
  std::uint64_t capacity = 0;  // slots, a power of two
  // These two change, on cache lines of their own.
  alignas(64) std::atomic<std::uint64_t> taken{0};       // slots, since the beginning
  alignas(64) std::atomic<std::uint64_t> ended_step{0};  // the last step that has ended
};
static_assert(offsetof(RingHeader, taken) == 64 && offsetof(RingHeader, ended_step) == 128);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(std::atomic<std::uint64_t>) == 8);

std::uint32_t crc_of(const RingHeader& header);

// In Event::reserved of a slot: which time round, from 1, and never 0.
inline std::uint8_t lap_of(std::uint64_t slot, std::uint64_t capacity) {
  return static_cast<std::uint8_t>(1 + (slot >> std::countr_zero(capacity)) % 255);
}

class FlightRing {
 public:
  static constexpr std::uint64_t kNoSlot = std::numeric_limits<std::uint64_t>::max();

  // In memory only where `file` is empty. EnvironmentError if the file cannot be made.
  FlightRing(const Path& file, std::size_t events, std::size_t groups);
  ~FlightRing();
  FlightRing(const FlightRing&) = delete;
  FlightRing& operator=(const FlightRing&) = delete;

  // Any thread. `event` has neither duration nor kComplete.
  std::uint64_t begin(const Event& event);
  void end(std::uint64_t slot, std::uint64_t now);

  std::uint64_t taken() const { return header_->taken.load(std::memory_order_acquire); }
  std::uint64_t capacity() const { return mask_ + 1; }
  // False if the event has not ended, or another has taken its place.
  bool read(std::uint64_t slot, Event& event) const;
  void end_step(std::uint64_t step) { header_->ended_step.store(step, std::memory_order_release); }

 private:
  struct Slot {
    std::atomic<std::uint64_t> words[4];
  };
  static_assert(sizeof(Slot) == sizeof(Event));
  using Words = std::array<std::uint64_t, 4>;
  static constexpr int kLapShift = 56, kFlagsShift = 48;  // in the last word
  static_assert(std::endian::native == std::endian::little && offsetof(Event, reserved) == 31 &&
                offsetof(Event, flags) == 30 && offsetof(Event, duration) == 8);

  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  RingHeader* header_ = nullptr;
  Slot* slots_ = nullptr;
  std::uint64_t mask_ = 0;
};

inline std::uint64_t FlightRing::begin(const Event& event) {
  const std::uint64_t number = header_->taken.fetch_add(1, std::memory_order_relaxed);
  const Words words = std::bit_cast<Words>(event);
  Slot& slot = slots_[number & mask_];
  slot.words[3].store(0, std::memory_order_relaxed);
  // Releasing: whoever sees one of these sees that the slot is no longer what it was.
  slot.words[0].store(words[0], std::memory_order_release);
  slot.words[1].store(words[1], std::memory_order_release);
  slot.words[2].store(words[2], std::memory_order_release);
  slot.words[3].store(words[3] | std::uint64_t{lap_of(number, capacity())} << kLapShift, std::memory_order_release);
  return number;
}

inline void FlightRing::end(std::uint64_t number, std::uint64_t now) {
  Slot& slot = slots_[number & mask_];
  const std::uint64_t last = slot.words[3].load(std::memory_order_acquire);
  if (last >> kLapShift != lap_of(number, capacity())) return;  // so many others began meanwhile
  const std::uint64_t start = slot.words[0].load(std::memory_order_relaxed);
  const std::uint64_t units = now > start ? (now - start + Event::kDurationUnit / 2) / Event::kDurationUnit : 0;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t step = slot.words[1].load(std::memory_order_relaxed) >> 32;
  slot.words[1].store((units > kMost ? kMost : units) | step << 32, std::memory_order_release);
  const std::uint64_t flags = units > kMost ? kComplete | kSaturated : kComplete;
  slot.words[3].store(last | flags << kFlagsShift, std::memory_order_release);
}

}  // namespace convoy::trace
