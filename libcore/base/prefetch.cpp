// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/prefetch.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace convoy {

void prefetch(std::span<const std::byte> part) {
  if (part.empty()) return;
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data()) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data()) + part.size();
  (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_WILLNEED);
}

}  // namespace convoy
