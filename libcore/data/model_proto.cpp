// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/model_proto.h"

#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

using protozero::pbf_reader;

// Fields of sentencepiece_model.proto, with their types: one of another type is passed over, as an unknown one is.
namespace field {
constexpr std::uint32_t text(protozero::pbf_tag_type tag) { return protozero::tag_and_type(tag, protozero::pbf_wire_type::length_delimited); }
constexpr std::uint32_t number(protozero::pbf_tag_type tag) { return protozero::tag_and_type(tag, protozero::pbf_wire_type::varint); }
constexpr std::uint32_t single(protozero::pbf_tag_type tag) { return protozero::tag_and_type(tag, protozero::pbf_wire_type::fixed32); }

constexpr auto kPieces = text(1), kTrainer = text(2), kNormalizer = text(3);
constexpr auto kPieceText = text(1), kPieceScore = single(2), kPieceKind = number(3);
constexpr auto kModelKind = number(3), kSpaceIsSuffix = number(24), kByteFallback = number(35);
constexpr auto kName = text(1), kCharacterMap = text(2), kDummyPrefix = number(3), kExtraSpaces = number(4), kEscapeSpaces = number(5);
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
    switch (reader.tag_and_type()) {
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
    switch (reader.tag_and_type()) {
      case field::kModelKind: model.kind = static_cast<ModelKind>(kind_number(reader, 1, 4, "model type")); break;
      case field::kSpaceIsSuffix: model.space_is_suffix = reader.get_bool(); break;
      case field::kByteFallback: model.byte_fallback = reader.get_bool(); break;
      default: reader.skip();
    }
  }
}

void read_normalizer(pbf_reader reader, ModelProto& model) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
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
      switch (reader.tag_and_type()) {
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
