// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/model_proto.h"

#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

using protozero::pbf_reader;

// Field numbers of sentencepiece_model.proto.
namespace field {
constexpr protozero::pbf_tag_type kPieces = 1, kTrainer = 2, kNormalizer = 3;
constexpr protozero::pbf_tag_type kPieceText = 1, kPieceScore = 2, kPieceKind = 3;
constexpr protozero::pbf_tag_type kModelKind = 3, kSpaceIsSuffix = 24, kByteFallback = 35;
constexpr protozero::pbf_tag_type kName = 1, kCharacterMap = 2, kDummyPrefix = 3, kExtraSpaces = 4, kEscapeSpaces = 5;
}  // namespace field

[[noreturn]] void refuse(const std::string& why) {
  throw DataError(fmt::format("is no SentencePiece model: {}; expected a .model file of spm_train or "
                              "convoy-preprocess train-tokenizer",
                              why));
}

std::uint8_t kind_number(pbf_reader& reader, int least, int most, const char* what) {
  const std::int32_t value = reader.get_enum();
  if (value < least || value > most) refuse(fmt::format("{} {} is none of {} to {}", what, value, least, most));
  return static_cast<std::uint8_t>(value);
}

ModelPiece read_piece(pbf_reader reader) {
  ModelPiece piece;
  while (reader.next()) {
    switch (reader.tag()) {
      case field::kPieceText: piece.text = reader.get_string(); break;
      case field::kPieceScore: piece.score = reader.get_float(); break;
      case field::kPieceKind: piece.kind = static_cast<PieceKind>(kind_number(reader, 1, 6, "piece type")); break;
      default: reader.skip();
    }
  }
  return piece;
}

void read_trainer(pbf_reader reader, ModelProto& model) {
  while (reader.next()) {
    switch (reader.tag()) {
      case field::kModelKind: model.kind = static_cast<ModelKind>(kind_number(reader, 1, 4, "model type")); break;
      case field::kSpaceIsSuffix: model.space_is_suffix = reader.get_bool(); break;
      case field::kByteFallback: model.byte_fallback = reader.get_bool(); break;
      default: reader.skip();
    }
  }
}

void read_normalizer(pbf_reader reader, ModelProto& model) {
  while (reader.next()) {
    switch (reader.tag()) {
      case field::kName: model.normalizer_name = reader.get_string(); break;
      case field::kCharacterMap: model.character_map = reader.get_string(); break;
      case field::kDummyPrefix: model.add_dummy_prefix = reader.get_bool(); break;
      case field::kExtraSpaces: model.remove_extra_spaces = reader.get_bool(); break;
      case field::kEscapeSpaces: model.escape_spaces = reader.get_bool(); break;
      default: reader.skip();
    }
  }
}

}  // namespace

std::string name_of(ModelKind kind) {
  switch (kind) {
    case ModelKind::kUnigram: return "unigram";
    case ModelKind::kBpe: return "bpe";
    case ModelKind::kWord: return "word";
    case ModelKind::kChar: return "char";
  }
  return "unknown";
}

ModelProto parse_model(std::string_view bytes) {
  if (bytes.empty()) refuse("the file is empty");
  ModelProto model;
  try {
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      switch (reader.tag()) {
        case field::kPieces: model.pieces.push_back(read_piece(reader.get_message())); break;
        case field::kTrainer: read_trainer(reader.get_message(), model); break;
        case field::kNormalizer: read_normalizer(reader.get_message(), model); break;
        default: reader.skip();
      }
    }
  } catch (const protozero::exception& error) {
    refuse(fmt::format("its bytes are no protocol buffer, or are cut ({})", error.what()));
  } catch (const std::runtime_error& error) {
    if (dynamic_cast<const Error*>(&error) != nullptr) throw;
    refuse(error.what());
  }
  if (model.pieces.empty()) refuse("it has no pieces");
  return model;
}

}  // namespace convoy::data
