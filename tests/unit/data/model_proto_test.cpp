// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/model_proto.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "golden.h"
#include "libcore/base/error.h"

namespace convoy::data {
namespace {

using golden::message_of;
using testing::HasSubstr;

std::string bytes_of(const char* name) { return golden::content(golden::folder() / "models" / name); }

TEST(ModelProto, ReadsKindAndNormaliserOfEachModel) {
  const ModelProto bpe = parse_model(bytes_of("bpe.model"));
  EXPECT_EQ(bpe.kind, ModelKind::kBpe);
  EXPECT_EQ(bpe.pieces.size(), 800u);
  EXPECT_TRUE(bpe.byte_fallback);
  EXPECT_EQ(bpe.normalizer_name, "identity");
  EXPECT_TRUE(bpe.character_map.empty());
  EXPECT_TRUE(bpe.add_dummy_prefix);
  EXPECT_FALSE(bpe.remove_extra_spaces);
  EXPECT_FALSE(bpe.space_is_suffix);
  const auto users = std::count_if(bpe.pieces.begin(), bpe.pieces.end(),
                                   [](const ModelPiece& piece) { return piece.kind == PieceKind::kUserDefined; });
  EXPECT_EQ(users, 3);
  const ModelProto unigram = parse_model(bytes_of("uni.model"));
  EXPECT_EQ(unigram.kind, ModelKind::kUnigram);
  EXPECT_EQ(unigram.normalizer_name, "nmt_nfkc");
  EXPECT_FALSE(unigram.character_map.empty());
  EXPECT_TRUE(unigram.remove_extra_spaces);
  EXPECT_FALSE(unigram.byte_fallback);
}

TEST(ModelProto, RefusesWhatIsNoModel) {
  for (const std::string& bad : {std::string(), std::string("not a model"), std::string(100, '\0'), std::string("\x0a\xff\xff\xff\xff", 5),
                                 bytes_of("bpe.model").substr(0, 700), std::string("{\"model\": {}}")}) {
    EXPECT_THAT(message_of<DataError>([&] { parse_model(bad); }), HasSubstr("is no SentencePiece model"));
  }
}

TEST(ModelProto, PassesOverFieldsOfAnotherType) {
  // Piece "a" of score 1, then its text as a number, its score as a text, its kind as a single: none of these is what it should be.
  const std::string_view piece("\x0a\x01" "a" "\x15\x00\x00\x80\x3f" "\x08\x07" "\x12\x01x" "\x1d\x01\x02\x03\x04", 18);
  const std::string model = std::string("\x0a\x12", 2) + std::string(piece) + std::string("\x08\x01", 2);
  const ModelProto read = parse_model(model);
  ASSERT_EQ(read.pieces.size(), 1u);
  EXPECT_EQ(read.pieces[0].text, "a");
  EXPECT_EQ(read.pieces[0].score, 1.0F);
  EXPECT_EQ(read.pieces[0].kind, PieceKind::kNormal);
}

}  // namespace
}  // namespace convoy::data
