// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/merge_table.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace convoy::data {
namespace {

constexpr std::size_t kFew = 40;              // symbols whose best merge is found faster by looking at all than by a queue
constexpr std::size_t kRoomToKeep = 1 << 16;  // symbols

std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) { return (std::uint64_t{left} << 32) | right; }
std::uint64_t slot_of(std::uint64_t pair) {
  const std::uint64_t mixed = pair * 0x9E3779B97F4A7C15U;
  return mixed ^ (mixed >> 32);
}

}  // namespace

MergeTable::MergeTable(std::span<const Merge> merges) : slots_(std::bit_ceil(2 * merges.size() + 2)), mask_(slots_.size() - 1) {
  for (const Merge& merge : merges) {
    const std::uint64_t pair = pair_of(merge.left, merge.right);
    std::uint64_t slot = slot_of(pair) & mask_;
    while (slots_[slot].pair != kNoPair) slot = (slot + 1) & mask_;
    slots_[slot] = {pair, merge.symbol, merge.rank};
  }
}

void MergeTable::clear(MergeRoom& room) {
  if (room.symbols.capacity() > kRoomToKeep) room = {};
  room.symbols.clear();
}

void MergeTable::append(std::uint32_t symbol, std::uint32_t begin, MergeRoom& room) {
  const auto index = static_cast<std::uint32_t>(room.symbols.size());
  room.symbols.push_back({.number = symbol, .rank = kNoRank, .begin = begin, .before = index - 1, .after = index + 1});
}

void MergeTable::merge(MergeRoom& room) const {
  for (std::size_t i = 0; i + 1 < room.symbols.size(); ++i) rate(room.symbols[i], room.symbols[i + 1]);
  if (room.symbols.size() <= kFew) {
    merge_few(room);
  } else {
    merge_many(room);
  }
}

void MergeTable::rate(MergeRoom::Symbol& left, const MergeRoom::Symbol& right) const {
  const std::uint64_t pair = pair_of(left.number, right.number);
  for (std::uint64_t slot = slot_of(pair) & mask_; slots_[slot].pair != kNoPair; slot = (slot + 1) & mask_) {
    if (slots_[slot].pair != pair) continue;
    left.merged = slots_[slot].symbol;
    left.rank = slots_[slot].rank;
    return;
  }
  left.rank = kNoRank;
}

void MergeTable::merge_few(MergeRoom& room) const {
  auto& symbols = room.symbols;
  for (std::size_t count = symbols.size(); count > 1; --count) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (symbols[i].rank < symbols[best].rank) best = i;
    }
    if (symbols[best].rank == kNoRank) break;
    symbols[best].number = symbols[best].merged;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    symbols[best].rank = kNoRank;
    if (best + 1 < symbols.size()) rate(symbols[best], symbols[best + 1]);
    if (best > 0) rate(symbols[best - 1], symbols[best]);
  }
}

// An entry of the queue is a rank and the left symbol's index. It counts as long as that symbol's merge has that rank.
void MergeTable::merge_many(MergeRoom& room) const {
  auto& symbols = room.symbols;
  auto& queue = room.queue;
  queue.clear();
  const auto push = [&](std::uint32_t index) {
    if (symbols[index].rank == kNoRank) return;
    queue.push_back((std::uint64_t{symbols[index].rank} << 32) | index);
    std::push_heap(queue.begin(), queue.end(), std::greater<>());
  };
  for (std::uint32_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i].rank != kNoRank) queue.push_back((std::uint64_t{symbols[i].rank} << 32) | i);
  }
  std::make_heap(queue.begin(), queue.end(), std::greater<>());
  const auto count = static_cast<std::uint32_t>(symbols.size());
  while (!queue.empty()) {
    const auto left = static_cast<std::uint32_t>(queue.front());
    const auto rank = static_cast<std::uint32_t>(queue.front() >> 32);
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    queue.pop_back();
    if (symbols[left].rank != rank) continue;
    const std::uint32_t right = symbols[left].after;
    symbols[left].number = symbols[left].merged;
    symbols[left].after = symbols[right].after;
    symbols[left].rank = symbols[right].rank = kNoRank;
    if (const std::uint32_t next = symbols[left].after; next < count) {
      symbols[next].before = left;
      rate(symbols[left], symbols[next]);
      push(left);
    }
    if (const std::uint32_t before = symbols[left].before; before < count) {
      rate(symbols[before], symbols[left]);
      push(before);
    }
  }
  std::size_t kept = 0;
  for (std::uint32_t i = 0; i < count; i = symbols[i].after) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

}  // namespace convoy::data
