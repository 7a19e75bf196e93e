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
  EXPECT_FALSE(bpe.has_character_map);
  EXPECT_TRUE(bpe.add_dummy_prefix);
  EXPECT_FALSE(bpe.remove_extra_spaces);
  EXPECT_FALSE(bpe.space_is_suffix);
  const auto users = std::count_if(bpe.pieces.begin(), bpe.pieces.end(),
                                   [](const ModelPiece& piece) { return piece.kind == PieceKind::kUserDefined; });
  EXPECT_EQ(users, 3);
  const ModelProto unigram = parse_model(bytes_of("uni.model"));
  EXPECT_EQ(unigram.kind, ModelKind::kUnigram);
  EXPECT_EQ(unigram.normalizer_name, "nmt_nfkc");
  EXPECT_TRUE(unigram.has_character_map);
  EXPECT_TRUE(unigram.remove_extra_spaces);
  EXPECT_FALSE(unigram.byte_fallback);
}

TEST(ModelProto, RefusesWhatIsNoModel) {
  for (const std::string& bad : {std::string(), std::string("not a model"), std::string(100, '\0'), std::string("\x0a\xff\xff\xff\xff", 5),
                                 bytes_of("bpe.model").substr(0, 700), std::string("{\"model\": {}}")}) {
    EXPECT_THAT(message_of<DataError>([&] { parse_model(bad); }), HasSubstr("is no SentencePiece model"));
  }
}

TEST(ModelProto, OnlyTheDummyPrefixChanges) {
  const ModelProto before = parse_model(bytes_of("bpe.model"));
  const ModelProto after = parse_model(without_dummy_prefix(bytes_of("bpe.model")));
  EXPECT_FALSE(after.add_dummy_prefix);
  EXPECT_EQ(after.kind, before.kind);
  EXPECT_EQ(after.byte_fallback, before.byte_fallback);
  EXPECT_EQ(after.remove_extra_spaces, before.remove_extra_spaces);
  ASSERT_EQ(after.pieces.size(), before.pieces.size());
  for (std::size_t i = 0; i < before.pieces.size(); ++i) EXPECT_EQ(after.pieces[i].text, before.pieces[i].text);
}

}  // namespace
}  // namespace convoy::data
