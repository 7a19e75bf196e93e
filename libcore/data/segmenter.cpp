// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/segmenter.h"

#include <algorithm>

#include "libcore/base/utf8.h"

namespace convoy::data {
namespace {

constexpr std::uint32_t kSpaceMarker = 0x2581;

std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) {
  const auto marked = [](std::uint32_t code) { return std::uint64_t{code == ' ' ? kSpaceMarker : code}; };
  return (marked(left) << 32) | marked(right);
}

bool is_text_piece(const ModelPiece& piece) {
  return piece.kind == PieceKind::kNormal || piece.kind == PieceKind::kUserDefined;
}

bool keeps_text(const ModelProto& model) {
  return !model.has_character_map && !model.remove_extra_spaces && !model.space_is_suffix && model.escape_spaces;
}

}  // namespace

Segmenter::Segmenter(const ModelProto& model) {
  if (model.kind != ModelKind::kBpe || !model.byte_fallback || !keeps_text(model)) return;
  const auto spoils = [](const ModelPiece& piece) {
    return piece.kind == PieceKind::kUnused ||
           (is_text_piece(piece) && find_invalid_utf8(piece.text) != std::string_view::npos);
  };
  if (std::any_of(model.pieces.begin(), model.pieces.end(), spoils)) return;
  for (const ModelPiece& piece : model.pieces) {
    if (is_text_piece(piece)) add_pairs(piece.text);
  }
  can_cut_ = true;
}

void Segmenter::add_pairs(std::string_view piece) {
  DecodedCharacter left = decode_character(piece);
  for (std::size_t at = left.bytes; at < piece.size();) {
    const DecodedCharacter right = decode_character(piece.substr(at));
    pairs_.insert(pair_key(left.code, right.code));
    at += right.bytes;
    left = right;
  }
}

bool Segmenter::joined(std::uint32_t left, std::uint32_t right) const { return pairs_.contains(pair_key(left, right)); }

std::size_t Segmenter::next_cut(std::string_view text, std::size_t from) const {
  if (!can_cut_) return text.size();
  for (std::size_t at = from; at < text.size(); ++at) {
    // Both neighbours must be valid characters: then every decoder agrees that one starts here.
    const DecodedCharacter right = decode_character(text.substr(at));
    if (right.bytes == 0) continue;
    const DecodedCharacter left = decode_last_character(text.substr(0, at));
    if (left.bytes != 0 && !joined(left.code, right.code)) return at;
  }
  return text.size();
}

}  // namespace convoy::data
