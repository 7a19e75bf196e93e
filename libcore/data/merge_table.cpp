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

constexpr std::uint64_t kNever = UINT64_MAX;  // behind all entries of the queue
std::uint64_t entry_of(std::uint32_t rank, std::uint32_t index) { return (std::uint64_t{rank} << 32) | index; }

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

// Symbols from `index` on are not known.
struct MergeTable::Frontier {
  std::uint32_t index = 0;
  std::size_t begin = 0, least_end = 0;  // of the first of them, in `text`
  std::string_view text;
  const ByteTrie* symbols = nullptr;  // null: there is nothing behind the unit
  std::uint64_t doubt = kNever;       // when the last known symbol must be given up: as an entry of the queue
};

void MergeTable::merge(MergeRoom& room) const {
  for (std::size_t i = 0; i + 1 < room.symbols.size(); ++i) rate(room.symbols[i], room.symbols[i + 1]);
  if (room.symbols.size() <= kFew) {
    merge_few(room);
  } else {
    Frontier none;
    none.index = static_cast<std::uint32_t>(room.symbols.size());
    merge_many(none, room);
  }
}

std::size_t MergeTable::merge_beginning(std::string_view text, std::size_t known, const ByteTrie& symbols, MergeRoom& room) const {
  for (std::size_t i = 0; i + 1 < room.symbols.size(); ++i) rate(room.symbols[i], room.symbols[i + 1]);
  Frontier frontier{.index = static_cast<std::uint32_t>(room.symbols.size()),
                    .begin = known,
                    .least_end = known + 1,
                    .text = text,
                    .symbols = &symbols};
  merge_many(frontier, room);
  return frontier.begin;
}

const MergeTable::Slot* MergeTable::find(std::uint32_t left, std::uint32_t right) const {
  const std::uint64_t pair = pair_of(left, right);
  for (std::uint64_t slot = slot_of(pair) & mask_; slots_[slot].pair != kNoPair; slot = (slot + 1) & mask_) {
    if (slots_[slot].pair == pair) return &slots_[slot];
  }
  return nullptr;
}

inline void MergeTable::rate(MergeRoom::Symbol& left, const MergeRoom::Symbol& right) const {
  left.rank = kNoRank;
  if (const Slot* const slot = find(left.number, right.number)) {
    left.merged = slot->symbol;
    left.rank = slot->rank;
  }
}

// Sets when `before`, the last known symbol, must be given up.
void MergeTable::look_ahead(Frontier& frontier, std::uint32_t before, const MergeRoom& room) const {
  frontier.doubt = kNever;
  if (frontier.symbols == nullptr || before >= frontier.index) return;
  std::uint32_t rank = kNoRank, node = ByteTrie::kRoot;
  for (std::size_t at = frontier.begin; true; ++at) {
    if (at == frontier.text.size()) {
      rank = 0;  // some longer symbol might be there
      break;
    }
    if (!frontier.symbols->step(node, static_cast<unsigned char>(frontier.text[at]))) break;
    const std::int32_t symbol = frontier.symbols->value(node);
    if (symbol == ByteTrie::kNoValue || at + 1 < frontier.least_end) continue;
    const Slot* const slot = find(room.symbols[before].number, static_cast<std::uint32_t>(symbol));
    if (slot != nullptr) rank = std::min(rank, slot->rank);
  }
  if (rank != kNoRank) frontier.doubt = entry_of(rank, before);
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

void MergeTable::give_up_last(Frontier& frontier, MergeRoom& room) {
  const auto last = static_cast<std::uint32_t>(frontier.doubt);
  const MergeRoom::Symbol& symbol = room.symbols[last];
  frontier.index = last;
  frontier.least_end = frontier.begin;
  frontier.begin = symbol.begin;
  if (symbol.before < last) room.symbols[symbol.before].rank = kNoRank;
}

// An entry of the queue is a rank and the left symbol's index. It counts as long as that symbol's merge has that rank.
void MergeTable::merge_many(Frontier& frontier, MergeRoom& room) const {
  auto& symbols = room.symbols;
  auto& queue = room.queue;
  queue.clear();
  for (std::uint32_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i].rank != kNoRank) queue.push_back(entry_of(symbols[i].rank, i));
  }
  std::make_heap(queue.begin(), queue.end(), std::greater<>());
  const auto rate_again = [&](std::uint32_t index) {
    rate(symbols[index], symbols[symbols[index].after]);
    if (symbols[index].rank == kNoRank) return;
    queue.push_back(entry_of(symbols[index].rank, index));
    std::push_heap(queue.begin(), queue.end(), std::greater<>());
  };
  look_ahead(frontier, frontier.index - 1, room);
  while (true) {
    const std::uint64_t next = queue.empty() ? kNever : queue.front();
    if (frontier.doubt < next) {
      give_up_last(frontier, room);
      look_ahead(frontier, symbols[frontier.index].before, room);
      continue;
    }
    if (next == kNever) break;
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    queue.pop_back();
    const auto left = static_cast<std::uint32_t>(next);
    if (symbols[left].rank != static_cast<std::uint32_t>(next >> 32)) continue;
    const std::uint32_t right = symbols[left].after;
    symbols[left].number = symbols[left].merged;
    symbols[left].after = symbols[right].after;
    symbols[left].rank = symbols[right].rank = kNoRank;
    if (symbols[left].after < frontier.index) {
      symbols[symbols[left].after].before = left;
      rate_again(left);
    } else {
      if (frontier.index < symbols.size()) symbols[frontier.index].before = left;
      look_ahead(frontier, left, room);
    }
    if (symbols[left].before < frontier.index) rate_again(symbols[left].before);
  }
  std::size_t kept = 0;
  for (std::uint32_t i = 0; i < frontier.index; i = symbols[i].after) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

}  // namespace convoy::data
