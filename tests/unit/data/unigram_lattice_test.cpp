// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/unigram_lattice.h"

#include <gmock/gmock.h>

#include <cfloat>

namespace convoy::data {
namespace {

using testing::ElementsAre;

class Lattice {
 public:
  explicit Lattice(std::vector<ModelPiece> pieces) : vocabulary_(vocabulary_of(model_of(std::move(pieces)))), lattice_(vocabulary_) {}
  std::vector<std::int32_t> ids(const std::string& unit, float before = 0.0F) {
    std::vector<std::int32_t> ids;
    score = before;
    all_pieces = lattice_.encode(unit, score, room_, ids);
    return ids;
  }
  float reach(const std::string& unit) { return lattice_.reach(unit, room_); }
  std::vector<std::int32_t> beginning(const std::string& text, std::size_t known) {
    std::vector<std::int32_t> ids;
    score = 0.0F;
    certain = lattice_.encode_beginning(text, known, score, room_, ids).value();
    return ids;
  }
  std::vector<std::int32_t> end(const std::string& rest) {
    std::vector<std::int32_t> ids;
    lattice_.encode_end(rest, score, room_, ids);
    return ids;
  }
  bool is_open() const { return room_.is_open(); }
  float score = 0.0F;
  bool all_pieces = true;
  std::size_t certain = 0;

 private:
  static ModelProto model_of(std::vector<ModelPiece> pieces) {
    ModelProto model;
    model.kind = ModelKind::kUnigram;
    model.pieces = std::move(pieces);
    return model;
  }
  Vocabulary vocabulary_;
  UnigramLattice lattice_;
  PathRoom room_;
};

constexpr auto kUnknown = PieceKind::kUnknown;
constexpr auto kNormal = PieceKind::kNormal;

TEST(UnigramLattice, TakesTheBestSum) {
  Lattice lattice({{"?", kUnknown}, {"a", kNormal, -1}, {"b", kNormal, -1}, {"ab", kNormal, -2.5F}, {"abb", kNormal, -2.75F}});
  EXPECT_THAT(lattice.ids("ab"), ElementsAre(1, 2));
  EXPECT_EQ(lattice.score, -2.0F);
  EXPECT_THAT(lattice.ids("abb", -10.0F), ElementsAre(4));
  EXPECT_EQ(lattice.score, -12.75F);
}

TEST(UnigramLattice, OfEqualSumsTheLongestLastPieceWins) {
  Lattice lattice({{"?", kUnknown}, {"a", kNormal, -1}, {"aa", kNormal, -2}, {"aaa", kNormal, -3}});
  EXPECT_THAT(lattice.ids("aaa"), ElementsAre(3));
  EXPECT_THAT(lattice.ids("aaaa"), ElementsAre(1, 3));
  EXPECT_LT(lattice.reach("aaa"), 0.0F) << "nothing is certain about a tie";
}

TEST(UnigramLattice, OfABeginningKeepsWhatAllPathsShare) {
  Lattice lattice({{"?", kUnknown}, {"a", kNormal, -1}, {"b", kNormal, -1}, {"ab", kNormal, -1.5F}});
  EXPECT_THAT(lattice.beginning("aabab", 3), ElementsAre(1, 3)) << "no piece goes on from b";
  EXPECT_EQ(lattice.score, -2.5F);
  EXPECT_EQ(lattice.certain, 3u);
  EXPECT_THAT(lattice.beginning("aabab", 2), ElementsAre(1)) << "the second a may be part of ab";
  EXPECT_EQ(lattice.score, -1.0F);
  EXPECT_EQ(lattice.certain, 1u);
}

// To the third a, a and aa; to the fourth, aa twice.
TEST(UnigramLattice, KeepsPathsThatDoNotMeetUntilTheEnd) {
  Lattice lattice({{"?", kUnknown}, {"a", kNormal, -1}, {"aa", kNormal, -1.5F}});
  for (const bool is_even : {true, false}) {
    EXPECT_THAT(lattice.beginning("aaaaaa", 4), testing::IsEmpty());
    EXPECT_EQ(lattice.certain, 3u) << "what is left begins where the shorter one ends";
    EXPECT_TRUE(lattice.is_open());
    EXPECT_EQ(lattice.end(is_even ? "aaa" : "aaaa"), is_even ? std::vector({2, 2, 2}) : std::vector({1, 2, 2, 2}));
    EXPECT_EQ(lattice.score, is_even ? -4.5F : -5.5F);
    EXPECT_FALSE(lattice.is_open());
  }
}

TEST(UnigramLattice, PathsThatMeetLaterAreSettledThen) {
  Lattice lattice({{"?", kUnknown}, {"a", kNormal, -1}, {"aa", kNormal, -1.5F}, {"b", kNormal, -1}});
  EXPECT_THAT(lattice.beginning("aaaaaa", 4), testing::IsEmpty());
  lattice.score = 0.0F;
  EXPECT_THAT(lattice.beginning("aaabaa", 4), ElementsAre(2, 2, 2, 3)) << "three of seven are done with: six and b";
  EXPECT_EQ(lattice.score, -5.5F);
  EXPECT_EQ(lattice.certain, 4u);
  EXPECT_FALSE(lattice.is_open());
}

// From 2^24 on singles are apart by 2: -16777217.25 and -16777218.9 are both -16777218 there.
TEST(UnigramLattice, ReachIsWhereRoundingCouldDecide) {
  Lattice lattice({{"?", kUnknown}, {"a", kNormal, -1.25F}, {"b", kNormal, -1.25F}, {"ab", kNormal, -2.9F}});
  EXPECT_THAT(lattice.ids("ab"), ElementsAre(1, 2));
  EXPECT_THAT(lattice.ids("ab", -16777216.0F), ElementsAre(3)) << "-16777218 against -16777218 - 1.25";
  const float reach = lattice.reach("ab");
  EXPECT_GT(reach, 1e5F);
  EXPECT_LT(reach, 16777216.0F / 2);
  EXPECT_THAT(lattice.ids("ab", -reach), ElementsAre(1, 2));
  EXPECT_EQ(lattice.reach("a"), FLT_MAX) << "there is no other path";
}

TEST(UnigramLattice, ACharacterWithoutAPieceIsUnknown) {
  Lattice lattice({{"?", kUnknown}, {"a", kNormal, -1}});
  EXPECT_THAT(lattice.ids("a\xe6\xb5\xb7"), ElementsAre(1, 0));
  EXPECT_FALSE(lattice.all_pieces);
  EXPECT_EQ(lattice.score, -1.0F - 11.0F) << "the least score and 10";
}

TEST(UnigramLattice, UserDefinedSymbolsHaveTheLibrarysScoreAndUnusedPiecesAreNotThere) {
  Lattice lattice({{"?", kUnknown}, {"a", kNormal, -0.01F}, {"b", kNormal, -0.01F}, {"ab", PieceKind::kUserDefined, -50}, {"bb", PieceKind::kUnused, -0.001F}});
  EXPECT_THAT(lattice.ids("abb"), ElementsAre(1, 2, 2)) << "-0.1, whatever its own score: less than -0.02";
  Lattice common({{"?", kUnknown}, {"a", kNormal, -1}, {"b", kNormal, -1}, {"ab", PieceKind::kUserDefined, -50}});
  EXPECT_THAT(common.ids("ab"), ElementsAre(3));
}

}  // namespace
}  // namespace convoy::data
