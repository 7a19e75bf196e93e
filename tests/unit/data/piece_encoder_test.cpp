// SPDX-License-Identifier: Apache-2.0
// What the golden texts (tokenizer_test.cpp) and encoder_differential.cpp cannot show.
#include "libcore/data/piece_encoder.h"

#include <gmock/gmock.h>

#include "golden_json.h"
#include "libcore/data/encoder_verification.h"

namespace convoy::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Path model(const std::string& name) { return golden::folder() / "models" / (name + ".model"); }

TEST(PieceEncoder, LeavesModelsThatItDoesNotKnowToTheLibrary) {
  const auto left = [](auto change) {
    ModelProto proto = parse_model(golden::content(model("bpe")));
    change(proto);
    return PieceEncoder(proto).left_to_library();
  };
  EXPECT_EQ(left([](ModelProto&) {}), "");
  EXPECT_EQ(left([](ModelProto& m) { m.kind = ModelKind::kWord; }), "a word model");
  EXPECT_EQ(left([](ModelProto& m) { m.pieces.push_back({"b\xff"}); }), "a piece is no UTF-8");
  EXPECT_EQ(left([](ModelProto& m) { m.pieces.push_back({std::string("b\0", 2)}); }), "a piece holds a NUL");
  EXPECT_EQ(left([](ModelProto& m) { m.pieces.push_back({"</s>"}); }), "the name of a control symbol or byte is a piece");
  EXPECT_EQ(left([](ModelProto& m) { m.pieces.push_back({"\xf0\x9f\x9a\xa2", PieceKind::kControl}); }), "the name of a control symbol or byte is a piece");
  EXPECT_EQ(left([](ModelProto& m) { m.pieces.push_back({"<0x41>", PieceKind::kUserDefined}); }), "the name of a control symbol or byte is a piece");
  EXPECT_EQ(left([](ModelProto& m) { m.pieces[400].score = std::nanf(""); }), "a piece has a score that is no number");
  EXPECT_EQ(left([](ModelProto& m) { m.pieces.push_back({"q z"}); }), "") << "never met, in a BPE model without effect";
  EXPECT_EQ(left([](ModelProto& m) {
              m = parse_model(golden::content(model("uni-bf")));
              m.pieces.push_back({"q z"});
            }),
            "a piece holds a blank");
  EXPECT_EQ(left([](ModelProto& m) { m.character_map = "cut"; }), "its rules of normalisation are cut, or no UTF-8");
}

TEST(PieceEncoder, MemoryOfALaneDoesNotOutliveItsText) {
  const ModelProto proto = parse_model(golden::content(model("bpe")));
  const PieceEncoder encoder(proto);
  EncoderRoom room;
  std::vector<std::int32_t> ids;
  std::string text(std::size_t{8} << 20, ' ');
  text.push_back('a');
  ASSERT_TRUE(encoder.encode(text, room, ids)) << "one unit: a piece is a run of blanks";
  EXPECT_LT(room.text.capacity() + 4 * room.ids.capacity() + 4 * room.unit.capacity(), std::size_t{64} << 20);
  EXPECT_LT(room.merges.symbols.capacity(), 1u << 17);
}

TEST(PieceEncoder, ATextOfManyPartsNeedsNoMoreRoomThanOne) {
  const ModelProto proto = parse_model(golden::content(model("bpe")));
  const PieceEncoder encoder(proto);
  EncoderRoom room;
  std::vector<std::int32_t> one, many;
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "a word\n";
  ASSERT_TRUE(encoder.encode("\na word\n", room, one));
  ASSERT_TRUE(encoder.encode("\n" + text, room, many));
  EXPECT_EQ(many.size(), 2 + 200000 * (one.size() - 2)) << "a blank and the first newline, then equal lines";
  EXPECT_LT(room.text.capacity(), 1u << 17);
}

// Expected ids are the library's. Parts of so few bytes cut characters, symbols and rules; a unit of 20 bytes is a long one.
TEST(PieceEncoder, ATextInPartsHasTheIdsOfTheWhole) {
  for (const char* name : {"bpe", "bpe-cross", "bpe-nmt", "uni", "uni-bf"}) {
    const PieceEncoder encoder(parse_model(golden::content(model(name))), {.part = 16, .long_unit = 20});
    EncoderRoom room;
    for (const auto& row : golden::json_lines(golden::folder() / "tokens" / (std::string(name) + ".jsonl"))) {
      const std::string text = golden::from_base64(row["text_b64"].get<std::string>());
      for (const std::size_t bytes : {1u, 3u, 50u}) {
        std::vector<std::int32_t> ids;
        encoder.begin(room);
        for (std::size_t at = 0; at < text.size(); at += bytes) ASSERT_TRUE(encoder.add(std::string_view(text).substr(at, bytes), room, ids));
        ASSERT_TRUE(encoder.finish(room, ids));
        EXPECT_EQ(ids, row["ids"].get<std::vector<std::int32_t>>()) << name << ", " << row["name"] << ", parts of " << bytes;
      }
    }
  }
}

std::size_t bytes_of(const EncoderRoom& room) {
  return room.raw.capacity() + room.text.capacity() + 4 * (room.ids.capacity() + room.unit.capacity()) +
         sizeof(MergeRoom::Symbol) * room.merges.symbols.capacity() + 8 * room.merges.queue.capacity() +
         sizeof(PathRoom::End) * room.paths.ends.capacity() + 64 * room.paths.store.blocks();
}

// Pieces of both models join the characters of each, the last to the first. Of blanks, sixteen are a piece, so that in the unigram model
// nothing is certain before the end: where the rest of a division by sixteen goes.
TEST(PieceEncoder, AUnitWithoutAnEndNeedsBoundedRoom) {
  for (const char* name : {"bpe", "uni-bf"}) {
    const PieceEncoder encoder(parse_model(golden::content(model(name))));
    const Tokenizer tokenizer(model(name));
    for (const char* one : {" ", "er", "ro", "edelorolerese"}) {
      std::string part;
      while (part.size() < 30000) part += one;
      EncoderRoom room;
      std::vector<std::int32_t> ids, library;
      encoder.begin(room);
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(encoder.add(part, room, ids));
      ASSERT_TRUE(encoder.finish(room, ids));
      tokenizer.encode_by_library(part + part + part, library);
      EXPECT_EQ(ids, library) << name << ", " << one;
      encoder.begin(room);
      std::size_t most = 0;
      for (int i = 0; i < 100; ++i) {
        ids.clear();
        ASSERT_TRUE(encoder.add(part, room, ids));
        most = std::max(most, bytes_of(room));
      }
      EXPECT_LT(most, std::size_t{8} << 20) << name << ", " << one;
    }
  }
}

TEST(UnitCache, ForgetsTheOldestOfAPlaceAndKeepsKeysApart) {
  UnitCache cache;
  const auto key = [](const char* text, std::size_t bytes) {
    std::array<char, 32> padded{};
    std::memcpy(padded.data(), text, bytes);
    padded[bytes] = '!';  // what follows a unit is no part of it
    UnitKey made = UnitKey::of(padded.data(), bytes);
    made.hash = 5;
    return made;
  };
  const std::vector<std::int32_t> ids{7, 8, 9};
  cache.add(key("a", 1), std::span(ids).first(1), 1.0F);
  cache.add(key("a\0", 2), std::span(ids).first(2), 2.0F);
  ASSERT_NE(cache.find(key("a", 1)), nullptr);
  EXPECT_EQ(cache.find(key("a", 1))->count(), 1u);
  EXPECT_EQ(cache.find(key("a\0", 2))->id(1), 8);
  cache.add(key("12345678", 8), ids, 3.0F);
  EXPECT_EQ(cache.find(key("a", 1)), nullptr);
  EXPECT_EQ(cache.find(key("12345678", 8))->id(0), 7);
  EXPECT_EQ(cache.find(key("12345678\0", 9)), nullptr);
  EXPECT_EQ(cache.find(key("1234567", 7)), nullptr);
}

TEST(EncoderVerification, TellsWhereEncodingsPart) {
  const Tokenizer tokenizer(model("bpe"));
  std::vector<std::int32_t> library;
  const std::string text = "The ship sails " + std::string(300, '.');
  tokenizer.encode_by_library(text, library);
  std::vector<std::int32_t> own(library.begin(), library.begin() + 2);
  own.push_back(5);
  EXPECT_THAT(difference_text(text, own, library, tokenizer), AllOf(HasSubstr("from token 2 on"), HasSubstr("found 5, in \"The ship"), HasSubstr(" ...")));
  EXPECT_LT(difference_text(text, own, library, tokenizer).size(), 400u);
}

TEST(EncoderVerification, FindsNothingWhereNothingDiffers) {
  const Tokenizer tokenizer(model("bpe"));
  Tokenizer::Lane lane(tokenizer);
  const EncoderVerification every(tokenizer, 1), none(tokenizer, 0);
  for (const char* text : {"", "The ship", "</s>\xff"}) {
    EXPECT_EQ(every.look_at(text, lane), std::nullopt);
    EXPECT_EQ(none.look_at(text, lane), std::nullopt);
  }
}

}  // namespace
}  // namespace convoy::data
