// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/unit_splitter.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

namespace convoy::data {
namespace {

constexpr std::uint64_t kFree = UINT64_MAX;

std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) { return (std::uint64_t{left} << 32) | right; }
std::uint64_t slot_of(std::uint64_t pair) { return (pair * 0x9E3779B97F4A7C15U) >> 32; }

template <class Visit>
void visit_pairs(std::string_view piece, Visit visit) {
  DecodedCharacter left = decode_valid_character(piece.data());
  for (std::size_t at = left.bytes; at < piece.size();) {
    const DecodedCharacter right = decode_valid_character(piece.data() + at);
    visit(left.code, right.code);
    at += right.bytes;
    left = right;
  }
}

}  // namespace

UnitSplitter::UnitSplitter(const Vocabulary& vocabulary) {
  const bool is_bpe = vocabulary.kind == ModelKind::kBpe;
  std::unordered_set<std::uint64_t> pairs;
  ascii_.fill(kCut);
  for (const TextPiece& piece : vocabulary.pieces) {
    // Symbols are boundaries in BPE; unigram never takes unused pieces.
    if (piece.kind == (is_bpe ? PieceKind::kUserDefined : PieceKind::kUnused)) continue;
    visit_pairs(piece.text, [&](std::uint32_t left, std::uint32_t right) {
      if ((left | right) < 0x80) {
        ascii_[left * 128 + right] = kNone;
      } else {
        pairs.insert(pair_of(left, right));
      }
    });
  }
  pairs_.assign(std::bit_ceil(2 * pairs.size() + 2), kFree);
  pairs_mask_ = pairs_.size() - 1;
  for (const std::uint64_t pair : pairs) {
    std::uint64_t slot = slot_of(pair) & pairs_mask_;
    while (pairs_[slot] != kFree) slot = (slot + 1) & pairs_mask_;
    pairs_[slot] = pair;
  }
  if (!is_bpe) return;
  symbols_ = ByteTrie(vocabulary.symbols);
  for (const auto& [text, id] : vocabulary.symbols) {
    begins_symbol_[static_cast<unsigned char>(text[0])] = true;
    lookahead_ = std::max(lookahead_, text.size());
  }
  for (std::size_t i = 0; i < ascii_.size(); ++i) {
    if (ascii_[i] == kNone && begins_symbol_[i % 128]) ascii_[i] = kPerhapsSymbol;
  }
}

bool UnitSplitter::joined(std::uint32_t left, std::uint32_t right) const {
  if ((left | right) < 0x80) return ascii_[left * 128 + right] != kCut;
  const std::uint64_t pair = pair_of(left, right);
  for (std::uint64_t slot = slot_of(pair) & pairs_mask_; pairs_[slot] != kFree; slot = (slot + 1) & pairs_mask_) {
    if (pairs_[slot] == pair) return true;
  }
  return false;
}

bool UnitSplitter::symbol_at(const char* at, const char* end) const {
  return symbols_.longest_prefix({at, static_cast<std::size_t>(end - at)}).bytes > 0;
}

}  // namespace convoy::data
