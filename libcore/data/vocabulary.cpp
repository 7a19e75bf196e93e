// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "libcore/base/utf8.h"

namespace convoy::data {
namespace {

constexpr std::size_t kMostIds = std::size_t{1} << 28;   // unit_cache.h keeps a count in an id's upper bits
constexpr std::size_t kMostNested = 60;  // the library holds 64 symbols that begin at one place

bool is_text(const ModelPiece& piece) {
  return piece.kind == PieceKind::kNormal || piece.kind == PieceKind::kUserDefined || piece.kind == PieceKind::kUnused;
}

std::string compact(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool marked = text.substr(at).starts_with(kBlankMark);
    out += marked ? ' ' : text[at];
    at += marked ? kBlankMark.size() : 1;
  }
  return out;
}

bool is_one_character(std::string_view text) { return decode_character(text).bytes == text.size(); }

std::string flaw_of_piece(const ModelPiece& piece) {
  if (piece.text.empty()) return "is empty";
  if (piece.text.find('\0') != std::string::npos) return "holds a NUL";
  if (find_invalid_utf8(piece.text) != std::string_view::npos) return "is no UTF-8";
  if (!std::isfinite(piece.score)) return "has a score that is no number";
  return {};
}

// Looked up by name, a control symbol that is also a piece, or one character, would become that control symbol.
std::string flaw_of_names(const ModelProto& model) {
  std::unordered_set<std::string_view> text;
  for (const ModelPiece& piece : model.pieces) {
    if (is_text(piece) && !text.insert(piece.text).second) return "a piece occurs twice";
  }
  for (const ModelPiece& piece : model.pieces) {
    if (is_text(piece)) continue;
    const bool clashes = text.contains(piece.text) || (piece.kind != PieceKind::kUnknown && is_one_character(piece.text));
    if (clashes) return "the name of a control symbol or byte is a piece";
  }
  return {};
}

bool nests_deeply(std::vector<std::pair<std::string, std::int32_t>> symbols) {
  std::sort(symbols.begin(), symbols.end());
  std::vector<std::string_view> open;  // each a beginning of the next
  for (const auto& [text, id] : symbols) {
    while (!open.empty() && !text.starts_with(open.back())) open.pop_back();
    open.push_back(text);
    if (open.size() > kMostNested) return true;
  }
  return false;
}

std::string flaw_of(const ModelProto& model, const Vocabulary& vocabulary) {
  if (model.kind != ModelKind::kBpe && model.kind != ModelKind::kUnigram) return fmt::format("a {} model", name_of(model.kind));
  if (model.pieces.size() >= kMostIds) return "its pieces are too many";
  if (vocabulary.unknown_id < 0) return "it has no unknown piece";
  for (const ModelPiece& piece : model.pieces) {
    const std::string flaw = is_text(piece) ? flaw_of_piece(piece) : std::string();
    if (!flaw.empty()) return fmt::format("a piece {}", flaw);
    // It is never met, but what an unknown character costs is reckoned from the lowest score of all.
    const bool counts_unmet = model.kind == ModelKind::kUnigram && piece.kind == PieceKind::kNormal && vocabulary.marks_blanks;
    if (counts_unmet && piece.text.find(' ') != std::string::npos) return "a piece holds a blank";
  }
  const bool lacks_bytes = std::find(vocabulary.byte_ids.begin(), vocabulary.byte_ids.end(), -1) != vocabulary.byte_ids.end();
  if (model.byte_fallback && lacks_bytes) return "it lacks pieces of bytes";
  if (nests_deeply(vocabulary.raw_symbols)) return "too many user-defined symbols begin with one another";
  const auto is_normal = [](const TextPiece& piece) { return piece.kind == PieceKind::kNormal; };
  if (std::none_of(vocabulary.pieces.begin(), vocabulary.pieces.end(), is_normal)) return "it has no normal piece";
  return flaw_of_names(model);
}

void add_piece(const ModelPiece& piece, std::int32_t id, Vocabulary& vocabulary) {
  if (piece.kind == PieceKind::kUnknown) vocabulary.unknown_id = id;
  if (piece.kind == PieceKind::kByte) {
    for (unsigned int byte = 0; byte < 256; ++byte) {
      if (piece.text == fmt::format("<0x{:02X}>", byte)) vocabulary.byte_ids[byte] = id;
    }
  }
  if (!is_text(piece) || piece.text.empty()) return;
  if (piece.kind == PieceKind::kUserDefined) vocabulary.raw_symbols.emplace_back(piece.text, id);
  const bool never_met = vocabulary.marks_blanks && piece.text.find(' ') != std::string::npos;
  if (never_met) return;
  const std::string text = vocabulary.marks_blanks ? compact(piece.text) : piece.text;
  if (piece.kind == PieceKind::kUserDefined) vocabulary.symbols.emplace_back(text, id);
  vocabulary.pieces.push_back({text, id, piece.kind, piece.score, piece.text.size()});
}

}  // namespace

void Vocabulary::append_unknown(std::string_view character, std::vector<std::int32_t>& ids) const {
  if (!byte_fallback) {
    ids.push_back(unknown_id);
    return;
  }
  if (marks_blanks && character == " ") character = kBlankMark;
  for (const char byte : character) ids.push_back(byte_ids[static_cast<unsigned char>(byte)]);
}

Vocabulary vocabulary_of(const ModelProto& model) {
  Vocabulary vocabulary;
  vocabulary.kind = model.kind;
  vocabulary.byte_fallback = model.byte_fallback;
  vocabulary.marks_blanks = model.escape_spaces;
  vocabulary.byte_ids.fill(-1);
  for (std::size_t i = 0; i < model.pieces.size() && i < kMostIds; ++i) add_piece(model.pieces[i], static_cast<std::int32_t>(i), vocabulary);
  vocabulary.left_to_library = flaw_of(model, vocabulary);
  if (!vocabulary.left_to_library.empty() || model.character_map.empty()) return vocabulary;
  if (auto rules = CharacterRules::parse(model.character_map)) {
    vocabulary.rules = std::move(*rules);
  } else {
    vocabulary.left_to_library = "its rules of normalisation are cut, or no UTF-8";
  }
  return vocabulary;
}

}  // namespace convoy::data
