// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/segmenter.h"

#include <gtest/gtest.h>

namespace convoy::data {
namespace {

ModelProto lossless(std::vector<ModelPiece> pieces) {
  ModelProto model;
  model.kind = ModelKind::kBpe;
  model.byte_fallback = true;
  model.remove_extra_spaces = false;
  model.pieces = std::move(pieces);
  return model;
}

const std::string kMark = "\xe2\x96\x81";

TEST(Segmenter, CutsOnlyBetweenCharactersThatNoPieceJoins) {
  const Segmenter segmenter(lossless({{kMark + "ab"}, {"bc"}, {"x"}}));
  ASSERT_TRUE(segmenter.can_cut());
  EXPECT_EQ(segmenter.next_cut("abcab", 1), 3u);   // ab and bc are joined, ca is not
  EXPECT_EQ(segmenter.next_cut("xx", 1), 1u);
  EXPECT_EQ(segmenter.next_cut("abc", 1), 3u);     // nowhere: the end
  EXPECT_EQ(segmenter.next_cut("c ab", 1), 1u);    // before the blank, not after it: a piece starts with blank, a
  EXPECT_EQ(segmenter.next_cut("c ab", 2), 4u);
}

TEST(Segmenter, ABlankAndItsMarkerAreTheSameCharacter) {
  const Segmenter segmenter(lossless({{"b" + kMark}, {"c d"}}));
  EXPECT_EQ(segmenter.next_cut("b b", 1), 2u);
  EXPECT_EQ(segmenter.next_cut("b" + kMark + "b", 1), 4u);
  EXPECT_EQ(segmenter.next_cut("c" + kMark + "d", 1), 5u);
}

TEST(Segmenter, UserDefinedSymbolsJoinTheirCharacters) {
  const Segmenter segmenter(lossless({{"::=", PieceKind::kUserDefined}, {"</s>", PieceKind::kControl}}));
  EXPECT_EQ(segmenter.next_cut("::==", 1), 3u);
  EXPECT_EQ(segmenter.next_cut("</s>", 1), 1u) << "a control symbol never comes from text";
}

TEST(Segmenter, NeverCutsInsideOrNextToInvalidBytes) {
  const Segmenter segmenter(lossless({{"q"}}));
  EXPECT_EQ(segmenter.next_cut("\xe6\xb5\xb7\xe6\xb5\xb7", 1), 3u);
  EXPECT_EQ(segmenter.next_cut("a\xff\xff" "bc", 1), 4u);
  EXPECT_EQ(segmenter.next_cut("a\xe6\xb5", 1), 3u);
}

TEST(Segmenter, DoesNotCutForModelsWhereNoCutIsExact) {
  const auto cuts = [](auto change) {
    ModelProto model = lossless({{"a"}});
    change(model);
    return Segmenter(model).can_cut();
  };
  EXPECT_TRUE(cuts([](ModelProto&) {}));
  EXPECT_TRUE(cuts([](ModelProto& m) { m.add_dummy_prefix = false; }));
  EXPECT_FALSE(cuts([](ModelProto& m) { m.kind = ModelKind::kUnigram; }));
  EXPECT_FALSE(cuts([](ModelProto& m) { m.byte_fallback = false; }));
  EXPECT_FALSE(cuts([](ModelProto& m) { m.has_character_map = true; }));
  EXPECT_FALSE(cuts([](ModelProto& m) { m.remove_extra_spaces = true; }));
  EXPECT_FALSE(cuts([](ModelProto& m) { m.space_is_suffix = true; }));
  EXPECT_FALSE(cuts([](ModelProto& m) { m.escape_spaces = false; }));
  EXPECT_FALSE(cuts([](ModelProto& m) { m.pieces.push_back({"b", PieceKind::kUnused}); }));
  EXPECT_FALSE(cuts([](ModelProto& m) { m.pieces.push_back({"b\xff"}); }));
}

}  // namespace
}  // namespace convoy::data
