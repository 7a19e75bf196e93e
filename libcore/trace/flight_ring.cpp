// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/flight_ring.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/trace/descriptor.h"

namespace convoy::trace {
namespace {

[[noreturn]] void refuse(const Path& file, int error) {
  throw EnvironmentError(fmt::format("cannot make the flight ring '{}': {}", file.string(), std::strerror(error)));
}

// Every byte has its place on the disk before it is mapped: a full disk would kill whoever writes there first.
void* map_file(const Path& path, std::size_t bytes) {
  const Descriptor file(path, O_RDWR | O_CREAT | O_TRUNC);
  if (!file) refuse(path, errno);
  if (const int error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)); error != 0) refuse(path, error);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) refuse(path, errno);
  return memory;
}

void* map_memory(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) refuse("", errno);
  return memory;
}

}  // namespace

std::uint32_t crc_of(const RingHeader& header) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&header.version);
  return crc32c({bytes, sizeof header.version + sizeof header.groups + sizeof header.capacity});
}

FlightRing::FlightRing(const Path& file, std::size_t events, std::size_t groups) {
  check(std::has_single_bit(events) && events <= kMostRingEvents, "a flight ring has a power of two of slots");
  bytes_ = kRingHeaderBytes + events * sizeof(Slot);
  memory_ = file.empty() ? map_memory(bytes_) : map_file(file, bytes_);
  mask_ = events - 1;
  std::memset(memory_, 0, bytes_);  // each page is there before the first event needs it
  header_ = new (memory_) RingHeader;
  slots_ = reinterpret_cast<Slot*>(static_cast<std::byte*>(memory_) + kRingHeaderBytes);
  header_->groups = static_cast<std::uint32_t>(groups);
  header_->capacity = events;
  header_->crc = crc_of(*header_);
}

FlightRing::~FlightRing() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

bool FlightRing::read(std::uint64_t number, Event& event) const {
  const Slot& slot = slots_[number & mask_];
  Words words;
  words[3] = slot.words[3].load(std::memory_order_acquire);
  for (std::size_t i = 0; i < 3; ++i) words[i] = slot.words[i].load(std::memory_order_acquire);
  if (slot.words[3].load(std::memory_order_relaxed) != words[3]) return false;
  event = std::bit_cast<Event>(words);
  if (event.reserved != lap_of(number, capacity()) || (event.flags & kComplete) == 0) return false;
  event.reserved = 0;
  return true;
}

}  // namespace convoy::trace
