// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/unit_splitter.h"

#include <gmock/gmock.h>

namespace convoy::data {
namespace {

using testing::ElementsAre;

const std::string kMark = "\xe2\x96\x81";

ModelProto model_of(std::vector<ModelPiece> pieces, ModelKind kind = ModelKind::kBpe) {
  ModelProto model;
  model.kind = kind;
  model.pieces = std::move(pieces);
  return model;
}

// Units as they are, symbols as "[id]", and what is left undone behind a '|'.
std::vector<std::string> split(const ModelProto& model, const std::string& text, bool is_last = true) {
  const Vocabulary vocabulary = vocabulary_of(model);
  std::vector<std::string> parts;
  const std::size_t done = UnitSplitter(vocabulary).split(
      text, is_last, [&](const char* begin, const char* end) { parts.emplace_back(begin, end); },
      [&](std::int32_t id) { parts.push_back("[" + std::to_string(id) + "]"); });
  if (done < text.size()) parts.push_back("|" + text.substr(done));
  return parts;
}

TEST(UnitSplitter, CutsOnlyBetweenCharactersThatNoPieceJoins) {
  const ModelProto model = model_of({{kMark + "ab"}, {"bc"}, {"x"}});
  EXPECT_THAT(split(model, "abcab"), ElementsAre("abc", "ab"));  // ab and bc are joined, ca is not
  EXPECT_THAT(split(model, "xx ab"), ElementsAre("x", "x", " ab"));  // the blank is joined with what follows it
}

TEST(UnitSplitter, JoinsCharactersBeyondAscii) {
  const ModelProto model = model_of({{"\xe6\xb5\xb7\xe9\x81\x8b"}, {"a\xc3\xa9"}});
  EXPECT_THAT(split(model, "\xe6\xb5\xb7\xe9\x81\x8b\xe6\xb5\xb7"), ElementsAre("\xe6\xb5\xb7\xe9\x81\x8b", "\xe6\xb5\xb7"));
  EXPECT_THAT(split(model, "a\xc3\xa9" "a"), ElementsAre("a\xc3\xa9", "a"));
}

TEST(UnitSplitter, UserDefinedSymbolsOfBpeAreBoundariesAndTheLongestWins) {
  const ModelProto model = model_of({{"a:b"}, {"::=", PieceKind::kUserDefined}, {"::", PieceKind::kUserDefined}, {"=a"}});
  EXPECT_THAT(split(model, "a::=a"), ElementsAre("a", "[1]", "a"));
  EXPECT_THAT(split(model, "a:b::b"), ElementsAre("a:b", "[2]", "b"));
  EXPECT_THAT(split(model, "a:::="), ElementsAre("a", "[2]", ":", "=")) << "from left to right";
}

TEST(UnitSplitter, UserDefinedSymbolsOfUnigramJoinTheirCharacters) {
  const ModelProto model = model_of({{"x"}, {"::=", PieceKind::kUserDefined}, {"xy", PieceKind::kUnused}}, ModelKind::kUnigram);
  EXPECT_THAT(split(model, "x::=x"), ElementsAre("x", "::=", "x"));
  EXPECT_THAT(split(model, "xy"), ElementsAre("x", "y")) << "an unused piece is never taken";
}

TEST(UnitSplitter, UnusedPiecesOfBpeJoinBecauseTheyAreMerged) {
  EXPECT_THAT(split(model_of({{"ab", PieceKind::kUnused}}), "abab"), ElementsAre("ab", "ab"));
}

TEST(UnitSplitter, StopsBeforeWhatMoreTextMightChange) {
  const ModelProto model = model_of({{"ab"}, {"<user>", PieceKind::kUserDefined}});
  EXPECT_THAT(split(model, "abababab", false), ElementsAre("ab", "ab", "|abab")) << "a symbol of six bytes might begin there";
  EXPECT_THAT(split(model, "ababab<us", false), ElementsAre("ab", "ab", "|ab<us"));
}

TEST(UnitSplitter, WithoutMarksABlankIsNoMark) {
  ModelProto model = model_of({{kMark + "a"}});
  EXPECT_THAT(split(model, " a"), ElementsAre(" a"));
  model.escape_spaces = false;
  EXPECT_THAT(split(model, " a"), ElementsAre(" ", "a"));
  EXPECT_THAT(split(model, kMark + "a"), ElementsAre(kMark + "a"));
}

}  // namespace
}  // namespace convoy::data
