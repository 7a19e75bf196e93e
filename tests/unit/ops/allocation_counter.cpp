// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/ops/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> count{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  count.fetch_add(1, std::memory_order_relaxed);
  const std::size_t size = (bytes + alignment) / alignment * alignment;
  if (void* pointer = std::aligned_alloc(alignment, size)) return pointer;
  throw std::bad_alloc();
}

}  // namespace

namespace convoy::ops::test {

std::int64_t allocation_count() { return count.load(std::memory_order_relaxed); }

}  // namespace convoy::ops::test

// The other forms of new and delete call these; those that do not throw only where no sanitizer has forms of its own.
void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return ::operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* pointer, const std::nothrow_t&) noexcept { std::free(pointer); }
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { std::free(pointer); }
