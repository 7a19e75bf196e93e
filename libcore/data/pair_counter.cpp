// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/pair_counter.h"

#include "libcore/base/random.h"

namespace convoy::data {
namespace {

constexpr std::size_t kFirstSlots = 1024;

}  // namespace

PairCounter::PairCounter(std::size_t most_entries) : most_entries_(most_entries), slots_(kFirstSlots) {}

std::size_t PairCounter::find(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = static_cast<std::size_t>(mix64(key)) & mask;
  while (slots_[at].count != 0 && slots_[at].key != key) at = (at + 1) & mask;
  return at;
}

bool PairCounter::add(std::uint64_t key) {
  std::size_t at = find(key);
  if (slots_[at].count == 0) {
    if (entries_ == most_entries_) return false;
    if (2 * (entries_ + 1) > slots_.size()) {
      grow();
      at = find(key);
    }
    ++entries_;
    slots_[at].key = key;
  }
  ++slots_[at].count;
  return true;
}

std::int64_t PairCounter::count(std::uint64_t key) const { return slots_[find(key)].count; }

void PairCounter::clear() {
  entries_ = 0;
  slots_.assign(slots_.size(), Slot{});
}

void PairCounter::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.count != 0) slots_[find(slot.key)] = slot;
  }
}

}  // namespace convoy::data
