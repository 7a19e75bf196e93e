// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/bpe_merger.h"

#include <algorithm>
#include <functional>

#include "libcore/base/error.h"
#include "libcore/base/utf8.h"

namespace convoy::data {
namespace {

constexpr std::size_t kMostOutputs = 1024;  // ids that an unused piece is taken apart to; beyond, it is left to the library

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
  table_.emplace(merges_of(texts));
  add_outputs(texts);
  std::vector<std::pair<std::string, std::int32_t>> keys;
  for (const auto& [text, symbol] : texts) {
    keys.emplace_back(text, static_cast<std::int32_t>(symbol));
    longest_piece_ = std::max(longest_piece_, text.size());
  }
  symbols_ = ByteTrie(std::move(keys));
}

BpeMerger::Texts BpeMerger::number_symbols() {
  Texts texts;
  std::uint32_t next = 0;
  for (const TextPiece& piece : vocabulary_.pieces) {
    next = std::max(next, static_cast<std::uint32_t>(piece.id) + 1);
    if (merges(piece)) texts.emplace(piece.text, static_cast<std::uint32_t>(piece.id));
  }
  ascii_symbols_.fill(MergeTable::kNoSymbol);
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

std::vector<MergeTable::Merge> BpeMerger::merges_of(const Texts& texts) const {
  std::vector<float> scores;
  for (const TextPiece& piece : vocabulary_.pieces) scores.push_back(piece.score);
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<MergeTable::Merge> all;
  for (const TextPiece& piece : vocabulary_.pieces) {
    if (!merges(piece)) continue;
    const auto rank = std::lower_bound(scores.begin(), scores.end(), piece.score, std::greater<>()) - scores.begin();
    visit_splits(piece.text, [&](std::string_view left, std::string_view right) {
      const auto l = texts.find(left), r = texts.find(right);
      if (l == texts.end() || r == texts.end()) return;
      all.push_back({l->second, r->second, static_cast<std::uint32_t>(piece.id), static_cast<std::uint32_t>(rank)});
    });
  }
  return all;
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
  return found == other_symbols_.end() ? MergeTable::kNoSymbol : found->second;
}

void BpeMerger::load(std::string_view unit, MergeRoom& room) const {
  MergeTable::clear(room);
  for (std::size_t at = 0; at < unit.size();) {
    const DecodedCharacter character = decode_valid_character(unit.data() + at);
    MergeTable::append(symbol_of(character.code), static_cast<std::uint32_t>(at), room);
    at += character.bytes;
  }
}

bool BpeMerger::append_outputs(std::string_view unit, const MergeRoom& room, std::vector<std::int32_t>& ids) const {
  for (const MergeRoom::Symbol& symbol : room.symbols) {
    if (symbol.number == MergeTable::kNoSymbol) {
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
  if (unit.size() >= MergeTable::kNoSymbol) return false;
  load(unit, room);
  table_->merge(room);
  return append_outputs(unit, room, ids);
}

std::optional<std::size_t> BpeMerger::encode_beginning(std::string_view text, std::size_t known, MergeRoom& room,
                                                       std::vector<std::int32_t>& ids) const {
  if (known >= MergeTable::kNoSymbol) return std::nullopt;
  load(text.substr(0, known), room);
  const std::size_t certain = table_->merge_beginning(text, known, symbols_, room);
  if (!append_outputs(text, room, ids)) return std::nullopt;
  return certain;
}

}  // namespace convoy::data
