// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/bpe_merger.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "libcore/base/error.h"
#include "libcore/base/utf8.h"

namespace convoy::data {
namespace {

constexpr std::size_t kFew = 40;                // symbols whose best merge is found faster by looking at all than by a queue
constexpr std::size_t kMostOutputs = 1024;      // ids that an unused piece is taken apart to; beyond, it is left to the library
constexpr std::size_t kRoomToKeep = 1 << 16;    // symbols

std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) { return (std::uint64_t{left} << 32) | right; }
std::uint64_t slot_of(std::uint64_t pair) {
  const std::uint64_t mixed = pair * 0x9E3779B97F4A7C15U;
  return mixed ^ (mixed >> 32);
}

// Calls visit(left, right) for the ways to split `text` between two characters.
template <class Visit>
void visit_splits(std::string_view text, Visit visit) {
  for (std::size_t at = decode_valid_character(text.data()).bytes; at < text.size(); at += decode_valid_character(text.data() + at).bytes) {
    visit(text.substr(0, at), text.substr(at));
  }
}

bool merges(const TextPiece& piece) { return piece.kind != PieceKind::kUserDefined; }

}  // namespace

BpeMerger::BpeMerger(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
  const Texts texts = number_symbols();
  add_merges(texts);
  add_outputs(texts);
}

BpeMerger::Texts BpeMerger::number_symbols() {
  Texts texts;
  std::uint32_t next = 0;
  for (const TextPiece& piece : vocabulary_.pieces) {
    next = std::max(next, static_cast<std::uint32_t>(piece.id) + 1);
    if (merges(piece)) texts.emplace(piece.text, static_cast<std::uint32_t>(piece.id));
  }
  ascii_symbols_.fill(kNoSymbol);
  for (const TextPiece& piece : vocabulary_.pieces) {
    if (!merges(piece)) continue;
    const std::string_view text = piece.text;
    for (std::size_t at = 0; at < text.size();) {
      const DecodedCharacter character = decode_valid_character(text.data() + at);
      const auto [found, is_new] = texts.emplace(text.substr(at, character.bytes), next);
      next += is_new;
      if (character.code < 0x80) ascii_symbols_[character.code] = found->second;
      if (character.code >= 0x80) other_symbols_[character.code] = found->second;
      at += character.bytes;
    }
  }
  outputs_.resize(next);
  return texts;
}

void BpeMerger::add_merges(const Texts& texts) {
  std::vector<float> scores;
  std::size_t most = 0;
  for (const TextPiece& piece : vocabulary_.pieces) {
    scores.push_back(piece.score);
    most += piece.text.size();
  }
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<Merge> all;
  for (const TextPiece& piece : vocabulary_.pieces) {
    if (!merges(piece)) continue;
    const auto rank = std::lower_bound(scores.begin(), scores.end(), piece.score, std::greater<>()) - scores.begin();
    visit_splits(piece.text, [&](std::string_view left, std::string_view right) {
      const auto l = texts.find(left), r = texts.find(right);
      if (l == texts.end() || r == texts.end()) return;
      all.push_back({pair_of(l->second, r->second), static_cast<std::uint32_t>(piece.id), static_cast<std::uint32_t>(rank)});
    });
  }
  merges_.resize(std::bit_ceil(2 * all.size() + 2));
  merges_mask_ = merges_.size() - 1;
  for (const Merge& merge : all) {
    std::uint64_t slot = slot_of(merge.pair) & merges_mask_;
    while (merges_[slot].pair != kNoPair) slot = (slot + 1) & merges_mask_;
    merges_[slot] = merge;
  }
}

void BpeMerger::add_outputs(const Texts& texts) {
  const auto add = [this](std::uint32_t symbol, const auto& append) {
    outputs_[symbol].first = static_cast<std::uint32_t>(output_ids_.size());
    append();
    outputs_[symbol].count = static_cast<std::uint32_t>(output_ids_.size()) - outputs_[symbol].first;
  };
  std::vector<const TextPiece*> unused;
  std::unordered_map<std::string_view, const TextPiece*> pieces;
  for (const TextPiece& piece : vocabulary_.pieces) pieces.emplace(piece.text, &piece);
  for (const auto& [text, symbol] : texts) {
    const auto found = pieces.find(text);
    const TextPiece* const piece = found == pieces.end() || !merges(*found->second) ? nullptr : found->second;
    const bool is_character = decode_valid_character(text.data()).bytes == text.size();
    if (piece != nullptr && piece->kind == PieceKind::kUnused && !is_character) {
      unused.push_back(piece);
    } else {
      add(symbol, [&, text = text] {
        if (piece != nullptr) output_ids_.push_back(piece->id);
        if (piece == nullptr) vocabulary_.append_unknown(text, output_ids_);
      });
    }
  }
  // What an unused piece is made of is shorter, so it comes before.
  std::sort(unused.begin(), unused.end(), [](const TextPiece* a, const TextPiece* b) { return a->text.size() < b->text.size(); });
  for (const TextPiece* piece : unused) {
    Splits splits;
    visit_splits(piece->text, [&](std::string_view left, std::string_view right) {
      const auto l = texts.find(left), r = texts.find(right);
      if (l != texts.end() && r != texts.end()) splits.emplace_back(l->second, r->second);
    });
    add_output_of_unused(static_cast<std::uint32_t>(piece->id), splits);
  }
}

void BpeMerger::add_output_of_unused(std::uint32_t symbol, const Splits& splits) {
  Output& output = outputs_[symbol];
  if (splits.empty()) return;  // nothing is ever merged to it
  const Output left = outputs_[splits[0].first], right = outputs_[splits[0].second];
  const bool is_plain = splits.size() == 1 && left.count != kAmbiguous && right.count != kAmbiguous;
  if (!is_plain || left.count + right.count > kMostOutputs) {
    output.count = kAmbiguous;
    return;
  }
  output = {static_cast<std::uint32_t>(output_ids_.size()), left.count + right.count};
  for (const Output& part : {left, right}) {
    for (std::uint32_t i = 0; i < part.count; ++i) output_ids_.push_back(output_ids_[part.first + i]);
  }
}

std::uint32_t BpeMerger::symbol_of(std::uint32_t code) const {
  if (code < 0x80) return ascii_symbols_[code];
  const auto found = other_symbols_.find(code);
  return found == other_symbols_.end() ? kNoSymbol : found->second;
}

void BpeMerger::rate(MergeRoom::Symbol& left, const MergeRoom::Symbol& right) const {
  const std::uint64_t pair = pair_of(left.number, right.number);
  for (std::uint64_t slot = slot_of(pair) & merges_mask_; merges_[slot].pair != kNoPair; slot = (slot + 1) & merges_mask_) {
    if (merges_[slot].pair != pair) continue;
    left.merged = merges_[slot].symbol;
    left.rank = merges_[slot].rank;
    return;
  }
  left.rank = kNoRank;
}

void BpeMerger::load(std::string_view unit, MergeRoom& room) const {
  room.symbols.clear();
  for (std::size_t at = 0; at < unit.size();) {
    const DecodedCharacter character = decode_valid_character(unit.data() + at);
    const auto index = static_cast<std::uint32_t>(room.symbols.size());
    room.symbols.push_back({.number = symbol_of(character.code),
                            .rank = kNoRank,
                            .begin = static_cast<std::uint32_t>(at),
                            .before = index - 1,
                            .after = index + 1});
    at += character.bytes;
  }
  for (std::size_t i = 0; i + 1 < room.symbols.size(); ++i) rate(room.symbols[i], room.symbols[i + 1]);
}

void BpeMerger::merge_few(MergeRoom& room) const {
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
void BpeMerger::merge_many(MergeRoom& room) const {
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

bool BpeMerger::append_outputs(std::string_view unit, const MergeRoom& room, std::vector<std::int32_t>& ids) const {
  for (const MergeRoom::Symbol& symbol : room.symbols) {
    if (symbol.number == kNoSymbol) {
      const char* const character = unit.data() + symbol.begin;
      vocabulary_.append_unknown({character, decode_valid_character(character).bytes}, ids);
      continue;
    }
    const Output& output = outputs_[symbol.number];
    if (output.count == kAmbiguous) return false;
    for (std::uint32_t i = 0; i < output.count; ++i) ids.push_back(output_ids_[output.first + i]);
  }
  return true;
}

bool BpeMerger::encode(std::string_view unit, MergeRoom& room, std::vector<std::int32_t>& ids) const {
  if (unit.size() >= kNoSymbol) return false;
  load(unit, room);
  if (room.symbols.size() <= kFew) {
    merge_few(room);
  } else {
    merge_many(room);
  }
  const bool exact = append_outputs(unit, room, ids);
  if (room.symbols.capacity() > kRoomToKeep) room = {};
  return exact;
}

}  // namespace convoy::data
