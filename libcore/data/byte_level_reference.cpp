// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/byte_level_reference.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <set>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

std::string merge_key(std::string_view left, std::string_view right) { return fmt::format("{}:{}{}", left.size(), left, right); }

}  // namespace

ByteLevelReference::ByteLevelReference(const ByteLevelBpe& bpe)
    : nfc_(bpe.nfc ? std::make_unique<const NfcNormalizer>() : nullptr),
      raw_tokens_(added_tokens(bpe, false, nullptr), classes_),
      normalized_tokens_(added_tokens(bpe, true, nfc_.get()), classes_),
      pre_tokenizer_(bpe.steps, bpe.byte_level, classes_, true),
      ignores_merges_(bpe.ignores_merges) {
  std::unordered_map<std::int32_t, std::string> texts;
  for (const auto& [piece, id] : bpe.pieces) {
    const auto bytes = bytes_of_piece(piece);
    if (!bytes) continue;
    ids_.emplace(*bytes, id);
    texts.emplace(id, *bytes);
  }
  for (const MergeTable::Merge& merge : bpe.merges) {
    const auto left = texts.find(static_cast<std::int32_t>(merge.left)), right = texts.find(static_cast<std::int32_t>(merge.right));
    if (left != texts.end() && right != texts.end()) ranks_.emplace(merge_key(left->second, right->second), merge.rank);
  }
}

void ByteLevelReference::encode(std::string_view text, std::vector<std::int32_t>& ids) const {
  std::string repaired, normalized;
  raw_tokens_.split(
      repaired_text(text, repaired), [&](std::string_view part) { encode_normalized(nfc_ ? nfc_->normalize(part, normalized) : part, ids); },
      [&ids](const AddedToken& token) { ids.push_back(token.id); });
}

void ByteLevelReference::encode_normalized(std::string_view text, std::vector<std::int32_t>& ids) const {
  const auto on_text = [&](std::string_view part) {
    std::string room;
    PreTokenizer::Parts units;
    pre_tokenizer_.split(part, room, units);
    for (const std::string_view unit : units) encode_unit(unit, ids);
  };
  normalized_tokens_.split(text, on_text, [&ids](const AddedToken& token) { ids.push_back(token.id); });
}

void ByteLevelReference::encode_unit(std::string_view unit, std::vector<std::int32_t>& ids) const {
  if (ignores_merges_) {
    if (const auto found = ids_.find(std::string(unit)); found != ids_.end()) return ids.push_back(found->second);
  }
  // A symbol by where it begins; the merges that wait, by rank and place.
  std::map<std::size_t, std::string> symbols;
  for (std::size_t i = 0; i < unit.size(); ++i) symbols.emplace(i, std::string(1, unit[i]));
  std::set<std::pair<std::uint32_t, std::size_t>> waiting;
  const auto rank_at = [&](auto symbol) {
    const auto next = std::next(symbol);
    const auto found = next == symbols.end() ? ranks_.end() : ranks_.find(merge_key(symbol->second, next->second));
    return found == ranks_.end() ? UINT32_MAX : found->second;
  };
  for (auto symbol = symbols.begin(); symbol != symbols.end(); ++symbol) waiting.emplace(rank_at(symbol), symbol->first);
  while (waiting.begin()->first != UINT32_MAX) {
    const auto left = symbols.find(waiting.begin()->second), right = std::next(left);
    const auto before = left == symbols.begin() ? symbols.end() : std::prev(left);
    waiting.erase({rank_at(left), left->first});
    waiting.erase({rank_at(right), right->first});
    if (before != symbols.end()) waiting.erase({rank_at(before), before->first});
    left->second += right->second;
    symbols.erase(right);
    waiting.emplace(rank_at(left), left->first);
    if (before != symbols.end()) waiting.emplace(rank_at(before), before->first);
  }
  for (const auto& [begin, symbol] : symbols) {
    const auto found = ids_.find(symbol);
    check(found != ids_.end(), "what merges make is a piece");
    ids.push_back(found->second);
  }
}

}  // namespace convoy::data
