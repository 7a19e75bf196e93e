// SPDX-License-Identifier: Apache-2.0
// Reads a flight ring, of a process that has ended or that goes on writing.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>

#include "libcore/base/error.h"
#include "libcore/trace/descriptor.h"
#include "libcore/trace/flight_ring.h"
#include "libcore/trace/record_check.h"
#include "libcore/trace/trace_reader.h"

namespace convoy::trace {
namespace {

constexpr std::size_t kEventsAtOnce = 4096;

struct Counts {
  std::uint64_t capacity = 0, groups = 0, taken = 0, ended_step = 0;
};

std::int64_t read_at(const Descriptor& file, std::uint64_t offset, std::span<std::byte> bytes, const Path& path) {
  const std::int64_t got = file.read_at(offset, bytes);
  if (got < 0) throw EnvironmentError(fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)));
  return got;
}

// False if it is no ring's header.
bool read_counts(const Descriptor& file, const Path& path, Counts& counts) {
  alignas(RingHeader) std::byte bytes[sizeof(RingHeader)];
  if (read_at(file, 0, bytes, path) < static_cast<std::int64_t>(sizeof bytes)) return false;
  const auto& header = *reinterpret_cast<const RingHeader*>(bytes);
  if (header.magic != kRingMagic || header.crc != crc_of(header) || header.version != kFormatVersion) return false;
  if (!std::has_single_bit(header.capacity) || header.capacity > kMostRingEvents) return false;
  counts = {header.capacity, header.groups, header.taken.load(std::memory_order_relaxed),
            header.ended_step.load(std::memory_order_relaxed)};
  return true;
}

// What the slots from `first` on hold, in the order in which they were taken; torn ones are counted.
std::vector<Event> read_slots(const Descriptor& file, const Path& path, const Counts& counts, std::uint64_t first,
                              std::uint64_t& torn) {
  std::vector<Event> events, part(kEventsAtOnce);
  for (std::uint64_t slot = first; slot < counts.taken;) {
    const std::uint64_t place = slot & (counts.capacity - 1);
    const std::uint64_t count =
        std::min<std::uint64_t>({counts.taken - slot, counts.capacity - place, std::uint64_t{kEventsAtOnce}});
    const std::int64_t got = read_at(file, kRingHeaderBytes + place * sizeof(Event),
                                     std::as_writable_bytes(std::span(part).first(count)), path);
    const std::uint64_t there = static_cast<std::uint64_t>(got) / sizeof(Event);
    if (there == 0) return torn += counts.taken - slot, events;
    for (std::uint64_t i = 0; i < there; ++i) {
      Event event = part[i];
      const bool is_of_this_lap = event.reserved == lap_of(slot + i, counts.capacity);
      event.reserved = 0;
      const bool has_a_group = event.group == Event::kNoGroup || event.group < counts.groups;
      if (is_of_this_lap && has_a_group && problem_of(event).empty()) {
        events.push_back(event);
      } else {
        ++torn;
      }
    }
    slot += there;
  }
  return events;
}

}  // namespace

RingEvents read_ring(const Path& path) {
  const Descriptor file(path, O_RDONLY | O_NONBLOCK);
  if (!file && errno == ENOENT) return {};
  if (!file) throw EnvironmentError(fmt::format("cannot open '{}': {}", path.string(), std::strerror(errno)));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw EnvironmentError(fmt::format("cannot read '{}': it is not a regular file", path.string()));
  RingEvents ring;
  Counts counts;
  if (!read_counts(file, path, counts)) {
    ring.torn = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(status.st_size) / sizeof(Event));
    return ring;
  }
  const std::uint64_t first = counts.taken > counts.capacity ? counts.taken - counts.capacity : 0;
  std::vector<Event> events = read_slots(file, path, counts, first, ring.torn);
  // Of the step of the oldest event others may have been overwritten.
  const std::uint64_t partial = first > 0 && !events.empty() ? events.front().step : 0;
  for (const Event& event : events) {
    if (event.step > counts.ended_step || (event.flags & kComplete) == 0) {
      ring.unfinished.push_back(event);
    } else if (event.step > partial) {
      ring.events.push_back(event);
    }
  }
  return ring;
}

}  // namespace convoy::trace
