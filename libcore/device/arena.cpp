// SPDX-License-Identifier: Apache-2.0
#include "libcore/device/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "libcore/base/error.h"

namespace convoy::device {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kMapFrom = std::size_t{1} << 20;  // smaller buffers come from the heap

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

std::size_t mapped_size(std::size_t bytes) { return rounded_up(bytes, kHugePage); }

[[noreturn]] void throw_out_of_memory(std::size_t bytes) {
  throw EnvironmentError(
      fmt::format("out of memory: {} bytes ({:.1f} MiB) asked for in one piece; ask Slurm for more memory "
                  "(--mem), or use a smaller micro-batch, sequence or model",
                  bytes, static_cast<double>(bytes) / (1 << 20)));
}

// Whole huge pages, aligned to one: without the alignment the kernel cannot use a huge page for the first and last of
// them.
std::byte* map_pages(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) throw_out_of_memory(bytes);
  const std::size_t size = mapped_size(bytes);
  void* raw = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) throw_out_of_memory(bytes);
  auto* start = static_cast<std::byte*>(raw);
  const std::size_t misfit = reinterpret_cast<std::uintptr_t>(start) % kHugePage;
  const std::size_t head = misfit == 0 ? 0 : kHugePage - misfit;
  if (head > 0) munmap(start, head);
  if (head < kHugePage) munmap(start + head + size, kHugePage - head);
  madvise(start + head, size, MADV_HUGEPAGE);  // advice: a kernel without huge pages may decline
  return start + head;
}

std::byte* take_from_heap(std::size_t bytes) {
  const std::size_t size = rounded_up(bytes, kAlignment);
  void* data = std::aligned_alloc(kAlignment, size);
  if (data == nullptr) throw_out_of_memory(bytes);
  std::memset(data, 0, size);
  return static_cast<std::byte*>(data);
}

}  // namespace

Buffer::Buffer(std::size_t bytes, Device device) : size_(bytes) {
  check(device.kind == Kind::kCpu, "a buffer of this build lives in host memory");
  if (bytes == 0) return;
  data_ = bytes < kMapFrom ? take_from_heap(bytes) : map_pages(bytes);
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  if (size_ < kMapFrom) {
    std::free(data_);
  } else {
    munmap(data_, mapped_size(size_));
  }
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  return *this;
}

std::size_t Arena::piece_bytes(std::size_t bytes) { return rounded_up(bytes, kAlignment); }

std::size_t Arena::reserve(std::size_t bytes) {
  check(buffer_.data() == nullptr, "pieces of an arena are reserved before it is allocated");
  const std::size_t offset = reserved_;
  check(bytes <= SIZE_MAX / 2 - offset, "the sizes of an arena's pieces add up without overflow");
  reserved_ += piece_bytes(bytes);
  return offset;
}

void Arena::allocate(Device device) {
  check(buffer_.data() == nullptr, "an arena is allocated once");
  try {
    // One of nothing has an address all the same: a view of no elements is a view.
    buffer_ = Buffer(std::max(reserved_, kAlignment), device);
  } catch (const EnvironmentError& error) {
    throw EnvironmentError(fmt::format("{}: {}", name_, error.what()));
  }
}

std::byte* Arena::at(std::size_t offset) const {
  check(buffer_.data() != nullptr || reserved_ == 0, "an arena is allocated before its pieces are used");
  check(offset <= reserved_, "a piece lies inside its arena");
  return buffer_.data() + offset;
}

}  // namespace convoy::device
