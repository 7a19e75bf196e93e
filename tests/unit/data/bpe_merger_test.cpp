// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/bpe_merger.h"

#include <gmock/gmock.h>

namespace convoy::data {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;

class Merger {
 public:
  explicit Merger(std::vector<ModelPiece> pieces) : vocabulary_(vocabulary_of(model_of(std::move(pieces)))), merger_(vocabulary_) {}
  Ids ids(const std::string& unit) {
    Ids ids;
    is_exact = merger_.encode(unit, room_, ids);
    return ids;
  }
  bool is_exact = true;

 private:
  static ModelProto model_of(std::vector<ModelPiece> pieces) {
    ModelProto model;
    model.kind = ModelKind::kBpe;
    model.pieces = std::move(pieces);
    return model;
  }
  Vocabulary vocabulary_;
  BpeMerger merger_;
  MergeRoom room_;
};

constexpr auto kUnknown = PieceKind::kUnknown;
constexpr auto kNormal = PieceKind::kNormal;
constexpr auto kUnused = PieceKind::kUnused;

TEST(BpeMerger, MergesByScore) {
  Merger merger({{"?", kUnknown}, {"a", kNormal, -9}, {"b", kNormal, -9}, {"c", kNormal, -9}, {"ab", kNormal, -2}, {"bc", kNormal, -1}, {"abc", kNormal, -5}});
  EXPECT_THAT(merger.ids("abc"), ElementsAre(6)) << "bc, then a with bc";
  EXPECT_THAT(merger.ids("ab"), ElementsAre(4));
  EXPECT_THAT(merger.ids("abbc"), ElementsAre(4, 5));
}

TEST(BpeMerger, OfEqualScoresTheLeftmostGoesFirst) {
  Merger merger({{"?", kUnknown}, {"a", kNormal, -9}, {"b", kNormal, -9}, {"aa", kNormal, -1}, {"ab", kNormal, -1}});
  EXPECT_THAT(merger.ids("aaa"), ElementsAre(3, 1));
  EXPECT_THAT(merger.ids("aab"), ElementsAre(3, 2));
  EXPECT_THAT(merger.ids("aaab"), ElementsAre(3, 4));
}

TEST(BpeMerger, LongUnitsAreMergedInTheSameOrder) {
  Merger merger({{"?", kUnknown}, {"a", kNormal, -9}, {"aa", kNormal, -1}, {"aaaa", kNormal, -2}, {"aaa", kNormal, -3}});
  // 4 k + 3: k of four, then aa and a give aaa.
  for (const int fours : {1, 9, 10, 11, 400}) {
    Ids expected(static_cast<std::size_t>(fours), 3);
    expected.push_back(4);
    EXPECT_EQ(merger.ids(std::string(static_cast<std::size_t>(4 * fours + 3), 'a')), expected) << fours;
  }
}

TEST(BpeMerger, CharactersWithoutAPieceAreUnknownButMerge) {
  Merger merger({{"?", kUnknown}, {"xy", kNormal, -1}});
  EXPECT_THAT(merger.ids("xyx"), ElementsAre(1, 0));
  EXPECT_THAT(merger.ids("\xe6\xb5\xb7"), ElementsAre(0));
}

TEST(BpeMerger, TakesAnUnusedPieceApartAsItWasMerged) {
  Merger merger({{"?", kUnknown}, {"a", kNormal, -9}, {"b", kNormal, -9}, {"ab", kUnused, -1}, {"abb", kNormal, -2}, {"q", kUnused, -3}});
  EXPECT_THAT(merger.ids("ab"), ElementsAre(1, 2));
  EXPECT_THAT(merger.ids("abb"), ElementsAre(4)) << "it is merged on the way to another one";
  EXPECT_THAT(merger.ids("q"), ElementsAre(5)) << "a character stays";
  EXPECT_TRUE(merger.is_exact);
}

TEST(BpeMerger, LeavesAnUnusedPieceWithTwoWaysToTheLibrary) {
  Merger merger({{"?", kUnknown}, {"a", kNormal, -9}, {"ab", kNormal, -1}, {"ba", kNormal, -2}, {"aba", kUnused, -3}});
  merger.ids("ab");
  EXPECT_TRUE(merger.is_exact);
  merger.ids("aba");
  EXPECT_FALSE(merger.is_exact);
}

}  // namespace
}  // namespace convoy::data
