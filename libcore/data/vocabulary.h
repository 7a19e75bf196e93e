// SPDX-License-Identifier: Apache-2.0
// A model's pieces as this library's own encoders see them, and the models that they leave to the SentencePiece library.
//
// Normalised text and pieces are in compact form: one blank stands for U+2581, the mark of a blank. It is one to one, because
// the normaliser turns every blank into a mark. A model with escape_whitespaces=false keeps both apart: its compact form is the
// text itself.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/data/character_rules.h"
#include "libcore/data/model_proto.h"

namespace convoy::data {

constexpr std::string_view kBlankMark = "\xe2\x96\x81";  // U+2581

// A piece that may occur in text: normal, user-defined or unused.
struct TextPiece {
  std::string text;  // compact
  std::int32_t id = 0;
  PieceKind kind = PieceKind::kNormal;
  float score = 0.0F;
  std::size_t marked_bytes = 0;  // with marks of three bytes
};

struct Vocabulary {
  ModelKind kind = ModelKind::kBpe;
  bool byte_fallback = false;
  bool marks_blanks = true;  // escape_whitespaces
  std::int32_t unknown_id = -1;
  std::array<std::int32_t, 256> byte_ids{};
  std::vector<TextPiece> pieces;
  // User-defined symbols with their ids: as pieces, and as they are met in raw text.
  std::vector<std::pair<std::string, std::int32_t>> symbols, raw_symbols;
  CharacterRules rules;
  // Why the library must encode with this model, as a clause, or empty.
  std::string left_to_library;

  // What a character that is no piece becomes: the ids of its bytes, or the unknown id.
  void append_unknown(std::string_view character, std::vector<std::int32_t>& ids) const;
};

Vocabulary vocabulary_of(const ModelProto& model);

}  // namespace convoy::data
