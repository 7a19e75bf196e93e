// SPDX-License-Identifier: Apache-2.0
// What the SentencePiece library does not tell about a model: its kind, its normaliser's options and its pieces, read from
// the serialized ModelProto (sentencepiece_model.proto) with protozero, because libprotobuf cannot share a process with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::data {

enum class ModelKind : std::uint8_t { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };  // sentencepiece_model.proto
enum class PieceKind : std::uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

std::string name_of(ModelKind kind);  // "unigram", "bpe", "word", "char"

struct ModelPiece {
  std::string text;
  PieceKind kind = PieceKind::kNormal;
  float score = 0.0F;
};

struct ModelProto {
  std::vector<ModelPiece> pieces;
  ModelKind kind = ModelKind::kUnigram;
  bool byte_fallback = false;
  bool space_is_suffix = false;  // treat_whitespace_as_suffix
  std::string normalizer_name;
  std::string character_map;  // rules of character_rules.h; empty: identity
  bool add_dummy_prefix = true;
  bool remove_extra_spaces = true;
  bool escape_spaces = true;
};

// Throws DataError with a clause ("is no SentencePiece model: ...") if the bytes are no such message.
ModelProto parse_model(std::string_view bytes);

}  // namespace convoy::data
