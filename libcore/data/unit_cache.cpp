// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/unit_cache.h"

#include <sys/mman.h>

#include <new>

namespace convoy::data {
namespace {

constexpr std::align_val_t kHugePage{std::size_t{2} << 20};

}  // namespace

UnitCache::UnitCache() : long_(std::make_unique<KnownLongUnit[]>(kLongUnits)) {
  void* const place = ::operator new(kPairs * sizeof(Pair), kHugePage);
  (void)::madvise(place, kPairs * sizeof(Pair), MADV_HUGEPAGE);  // advice: a kernel may decline
  pairs_.reset(new (place) Pair[kPairs]);
}

void UnitCache::Release::operator()(Pair* pairs) const { ::operator delete(pairs, kHugePage); }

}  // namespace convoy::data
