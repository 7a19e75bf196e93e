// SPDX-License-Identifier: Apache-2.0
// Expected texts follow from normalizer.cc of SentencePiece; blanks stand for U+2581.
#include "libcore/data/text_normalizer.h"

#include <gtest/gtest.h>

#include "golden.h"

namespace convoy::data {
namespace {

const std::string kMark = "\xe2\x96\x81";

ModelProto lossless(std::vector<ModelPiece> pieces = {{"a"}}) {
  ModelProto model;
  model.kind = ModelKind::kBpe;
  model.pieces = std::move(pieces);
  model.remove_extra_spaces = false;
  return model;
}

std::string normalized(const ModelProto& model, std::string_view text, std::size_t part = SIZE_MAX) {
  const Vocabulary vocabulary = vocabulary_of(model);
  const TextNormalizer normalizer(model, vocabulary);
  NormalizerCursor cursor{.text = text};
  std::string out;
  while (!cursor.ended) normalizer.normalize(cursor, part, out);
  return out;
}

// Given `given` bytes more at a time.
std::string normalized_in_parts(const ModelProto& model, std::string_view text, std::size_t given, std::size_t part) {
  const Vocabulary vocabulary = vocabulary_of(model);
  const TextNormalizer normalizer(model, vocabulary);
  NormalizerCursor cursor;
  std::string out;
  for (std::size_t begin = 0, end = 0; !cursor.ended; begin += cursor.at) {
    end = std::min(text.size(), end + given);
    cursor.text = text.substr(begin, end - begin);
    cursor.at = 0;
    cursor.goes_on = end < text.size();
    while (normalizer.normalize(cursor, part, out)) {
    }
    EXPECT_LE(end - begin - cursor.at, normalizer.most_kept_back());
  }
  return out;
}

TEST(TextNormalizer, PutsABlankBeforeTheText) {
  EXPECT_EQ(normalized(lossless(), "a  b\n"), " a  b\n");
  EXPECT_EQ(normalized(lossless(), ""), "");
  ModelProto model = lossless();
  model.add_dummy_prefix = false;
  EXPECT_EQ(normalized(model, "a"), "a");
  model.add_dummy_prefix = model.space_is_suffix = true;
  EXPECT_EQ(normalized(model, "a"), "a ");
}

TEST(TextNormalizer, FoldsBlanks) {
  ModelProto model = lossless();
  model.remove_extra_spaces = true;
  EXPECT_EQ(normalized(model, "  a   b  "), " a b");
  EXPECT_EQ(normalized(model, "   "), "");
  EXPECT_EQ(normalized(model, "a " + kMark + " b"), " a   b") << "a mark in the text is no blank before it is normalised";
  EXPECT_EQ(normalized(model, "a " + kMark), " a") << "but it goes at the end";
  EXPECT_EQ(normalized(model, kMark), "");
  model.space_is_suffix = true;
  EXPECT_EQ(normalized(model, " a  b "), "a b ");
}

TEST(TextNormalizer, TakesAMarkInTheTextForABlankOnlyIfBlanksAreMarked) {
  ModelProto model = lossless();
  EXPECT_EQ(normalized(model, "a" + kMark + "b"), " a b");
  model.escape_spaces = false;
  EXPECT_EQ(normalized(model, "a" + kMark + "b"), " a" + kMark + "b");
}

TEST(TextNormalizer, ReplacesEachByteThatIsNoUtf8) {
  EXPECT_EQ(normalized(lossless(), "a\xff\xe6\xb5"), " a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(normalized(lossless(), std::string_view("\0a", 2)), std::string(" \0a", 3));
}

TEST(TextNormalizer, LeavesUserDefinedSymbolsAsTheyAre) {
  ModelProto model = parse_model(golden::content(golden::folder() / "models" / "uni.model"));  // nmt_nfkc
  EXPECT_EQ(normalized(model, "\xef\xac\x81 \xef\xbc\xa1\t.\r\n"), " fi A .");
  EXPECT_EQ(normalized(model, "e\xcc\x81"), " \xc3\xa9") << "composed, although it begins with ASCII";
  EXPECT_EQ(normalized(model, "ae\xcc\x81" "a"), " a\xc3\xa9" "a");
  model.pieces.push_back({"\xef\xac\x81", PieceKind::kUserDefined});
  model.pieces.push_back({"x  y", PieceKind::kUserDefined});
  EXPECT_EQ(normalized(model, "\xef\xac\x81"), " \xef\xac\x81");
  EXPECT_EQ(normalized(model, "ax  yb"), " ax  yb");
}

TEST(TextNormalizer, PartsGiveTheWhole) {
  ModelProto rules = parse_model(golden::content(golden::folder() / "models" / "uni.model"));
  rules.pieces.push_back({"<|user|>", PieceKind::kUserDefined});
  const std::string text = "  one  e\xcc\x81\xcc\x81  <|user|><|us \xef\xac\x81\xff" + kMark + " A\xcc\x80 \t end  " + kMark + " ";
  for (const ModelProto& model : {rules, lossless()}) {
    const std::string whole = normalized(model, text);
    for (std::size_t part = 1; part < text.size(); ++part) EXPECT_EQ(normalized(model, text, part), whole) << part;
    for (std::size_t given = 1; given < text.size(); ++given) EXPECT_EQ(normalized_in_parts(model, text, given, 7), whole) << given;
  }
}

TEST(TextNormalizer, KeepsBackWhatMoreTextMayChange) {
  ModelProto model = lossless();
  model.pieces.push_back({"<|user|>", PieceKind::kUserDefined});
  const Vocabulary vocabulary = vocabulary_of(model);
  const TextNormalizer normalizer(model, vocabulary);
  NormalizerCursor cursor{.text = "abcdefgh<|us", .goes_on = true};
  std::string out;
  EXPECT_FALSE(normalizer.normalize(cursor, SIZE_MAX, out));
  EXPECT_EQ(out, " abcde") << "seven bytes stay: one more could make a symbol";
  EXPECT_EQ(cursor.at, 5u);
  cursor = {.text = "", .goes_on = true};
  EXPECT_FALSE(normalizer.normalize(cursor, SIZE_MAX, out));
  EXPECT_FALSE(cursor.ended);
}

// A mark is held back like a blank, and written when text follows: not all at once, and without looking at all for each.
TEST(TextNormalizer, AnEndlessRunOfMarksIsWrittenInSteps) {
  ModelProto model = lossless();
  model.remove_extra_spaces = true;
  const Vocabulary vocabulary = vocabulary_of(model);
  const TextNormalizer normalizer(model, vocabulary);
  constexpr std::size_t kMarks = 300000;
  std::string text = "a";
  for (std::size_t i = 0; i < kMarks; ++i) text += kMark;
  text += "b";
  NormalizerCursor cursor{.text = text};
  std::string out, whole;
  for (bool has_more = true; has_more; out.clear()) {
    has_more = normalizer.normalize(cursor, 1000, out);
    ASSERT_LE(out.size(), 2100u);
    whole += out;
  }
  EXPECT_EQ(whole, " a" + std::string(kMarks, ' ') + "b");
}

}  // namespace
}  // namespace convoy::data
