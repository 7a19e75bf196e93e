// SPDX-License-Identifier: Apache-2.0
// Whatever bytes a trace or a flight ring holds, what is read of it is sound, or its header is refused. The input is
// small, so the blocks stand one behind another in it: 0x42 'B' and a length of two bytes before each, which is then
// spread to its place; its CRC is set right where the first bit of the length's high byte asks for it, so that the
// checks behind the CRC are reached.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/trace/block.h"
#include "libcore/trace/record_check.h"
#include "libcore/trace/trace_reader.h"

namespace {

using namespace convoy;
using namespace convoy::trace;

constexpr std::size_t kMostBlocks = 16;

// A file in memory, which every input fills anew.
int memory_file() {
  static const int file = ::memfd_create("fuzzed", 0);
  return file;
}

void repair(std::vector<std::byte>& block) {
  if (block.size() < sizeof(BlockHeader)) return;
  BlockHeader header;
  std::memcpy(&header, block.data(), sizeof header);
  if (header.bytes > block.size() - sizeof header) return;
  header.crc = crc_of(header, crc32c(std::span(block).subspan(sizeof header, header.bytes)));
  std::memcpy(block.data(), &header, sizeof header);
}

void fill_with_blocks(int file, std::span<const std::byte> input) {
  check(::ftruncate(file, 0) == 0, "a file in memory can be emptied");
  for (std::size_t index = 0; index < kMostBlocks && input.size() >= 3; ++index) {
    const auto low = static_cast<std::size_t>(input[1]), high = static_cast<std::size_t>(input[2]);
    const std::size_t size = std::min(input.size() - 3, low | (high & 0x7f) << 8);
    std::vector<std::byte> block(input.begin() + 3, input.begin() + 3 + static_cast<std::ptrdiff_t>(size));
    if ((high & 0x80) != 0) repair(block);
    const auto place = static_cast<off_t>(index * kBlockBytes);
    check(::pwrite(file, block.data(), size, place) == static_cast<ssize_t>(size), "a file in memory can be written");
    input = input.subspan(3 + size);
  }
}

void read_as_trace(const Path& path) {
  try {
    TraceReader reader(path);
    std::vector<StepRecord> steps;
    std::vector<Event> events;
    std::size_t count = 0;
    while (reader.next(steps, events)) {
      count += steps.size();
      check(!steps.empty() || !events.empty(), "a block that is given holds something");
      for (const StepRecord& step : steps) check(problem_of(step).empty(), "steps that are given are sound");
      for (const Event& event : events) check(problem_of(event, reader.header()).empty(), "events are sound");
    }
    check(reader.damage().bytes <= kMostBlocks * kBlockBytes, "damage is within the file");
    reader.rewind();
    while (reader.next_steps(steps)) count -= steps.size();
    check(count == 0, "of steps alone as many are given");
  } catch (const DataError&) {
  }
}

void read_as_ring(int file, const Path& path, std::span<const std::byte> input) {
  check(::ftruncate(file, 0) == 0, "a file in memory can be emptied");
  check(::pwrite(file, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size()), "it can be written");
  const RingEvents ring = read_ring(path);
  for (const Event& event : ring.events) check(problem_of(event).empty(), "events of a ring are sound");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = memory_file();
  const Path path = "/proc/self/fd/" + std::to_string(file);
  const auto input = std::as_bytes(std::span(data, size));
  fill_with_blocks(file, input);
  read_as_trace(path);
  read_as_ring(file, path, input);
  return 0;
}
