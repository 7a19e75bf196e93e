// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/tokenizer.h"

#include <gmock/gmock.h>

#include "golden_json.h"
#include "libcore/base/error.h"
#include "libcore/base/random.h"

namespace convoy::data {
namespace {

using golden::message_of;
using golden::TemporaryFolder;
using testing::HasSubstr;

Path model(const std::string& name) { return golden::folder() / "models" / (name + ".model"); }

class TokenizerOfModel : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerOfModel, GivesTheLibrarysIds) {
  const Tokenizer tokenizer(model(GetParam()));
  int texts = 0;
  for (const auto& row : golden::json_lines(golden::folder() / "tokens" / (std::string(GetParam()) + ".jsonl"))) {
    std::vector<std::int32_t> ids;
    tokenizer.encode(golden::from_base64(row["text_b64"].get<std::string>()), ids);
    EXPECT_EQ(ids, row["ids"].get<std::vector<std::int32_t>>()) << row["name"];
    ++texts;
  }
  EXPECT_EQ(texts, 251);
}

INSTANTIATE_TEST_SUITE_P(Golden, TokenizerOfModel, testing::Values("bpe", "bpe-cross", "bpe-nmt", "uni", "uni-bf"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Tokenizer, KnowsVocabularySpecialIdsAndIdentity) {
  const Tokenizer tokenizer(model("bpe"));
  EXPECT_EQ(tokenizer.vocabulary(), 800);
  EXPECT_EQ(tokenizer.eos_id(), 2);
  EXPECT_EQ(tokenizer.bos_id(), 1);
  EXPECT_EQ(tokenizer.facts().kind, "sentencepiece-bpe");
  EXPECT_EQ(tokenizer.piece(2), "</s>");
  const auto sums = golden::json(golden::folder() / "models" / "sha256.json");
  EXPECT_EQ(tokenizer.sha256(), sums.at("bpe.model").get<std::string>());
}

TEST(Tokenizer, ProbesWhetherTextComesBack) {
  EXPECT_EQ(Tokenizer(model("bpe")).lossy_reason(), "");
  EXPECT_EQ(Tokenizer(model("uni-bf")).lossy_reason(), "");
  EXPECT_THAT(Tokenizer(model("bpe-nmt")).lossy_reason(), HasSubstr("comes back as"));
  EXPECT_THAT(Tokenizer(model("uni")).lossy_reason(), HasSubstr("\"a\\nb\" comes back as \"a b\""));
}

TEST(Tokenizer, DecodesWhatItEncoded) {
  const Tokenizer tokenizer(model("bpe"));
  const std::string text = std::string("  Two\n\nlines\t\r\n <|user|> ::= </s> \xe6\xb5\xb7") + '\0' + "end ";
  std::vector<std::int32_t> ids;
  tokenizer.encode(text, ids);
  EXPECT_EQ(tokenizer.decode(ids), text);
  ids.push_back(2);
  EXPECT_EQ(tokenizer.decode(ids), text) << "the end-of-document id is no text";
  EXPECT_THAT(message_of<DataError>([&] { tokenizer.decode({800}); }), HasSubstr("token id 800"));
  EXPECT_THROW(tokenizer.decode({-1}), DataError);
}

TEST(Tokenizer, AStreamGivesTheIdsOfTheWholeText) {
  const Tokenizer tokenizer(model("bpe-nmt"));
  ASSERT_TRUE(tokenizer.streams());
  Tokenizer::Lane lane(tokenizer);
  const std::string text = "The ship \xef\xac\x81  \xe6\xb5\xb7 sails ";
  std::vector<std::int32_t> library;
  tokenizer.encode_by_library(text, library);
  for (int twice = 0; twice < 2; ++twice) {
    Tokenizer::Stream stream(lane);
    std::vector<std::int32_t> ids;
    for (const char byte : text) ASSERT_TRUE(stream.add({&byte, 1}, ids));
    ASSERT_TRUE(stream.finish(ids));
    EXPECT_EQ(ids, library);
  }
  Tokenizer::Stream empty(lane);
  std::vector<std::int32_t> ids;
  EXPECT_TRUE(empty.add("", ids) && empty.finish(ids));
  EXPECT_TRUE(ids.empty());
}

TEST(Tokenizer, AppendsToTheIdsThatAreThere) {
  const Tokenizer tokenizer(model("bpe"));
  std::vector<std::int32_t> ids{7};
  tokenizer.encode("", ids);
  EXPECT_EQ(ids, std::vector<std::int32_t>{7});
  tokenizer.encode("a", ids);
  EXPECT_GT(ids.size(), 1u);
  EXPECT_EQ(ids[0], 7);
}

// Texts of many segments, drawn from characters that the model joins, against the golden texts' own ids: the segments of a
// concatenation are those of its parts when each part ends where the model must cut.
TEST(Tokenizer, LongTextsGiveTheIdsOfTheirParts) {
  const Tokenizer tokenizer(model("bpe"));
  std::vector<std::string> texts;
  for (const auto& row : golden::json_lines(golden::folder() / "tokens" / "bpe.jsonl")) {
    texts.push_back(golden::from_base64(row["text_b64"].get<std::string>()));
  }
  // "\n" is in no piece of this model, so every line is encoded for itself, the first with a blank before it.
  std::string whole;
  std::vector<std::int32_t> expected, line, lead;
  tokenizer.encode("\n", lead);  // the dummy blank, then the newline's byte piece
  ASSERT_EQ(lead.size(), 2u);
  for (int i = 0; i < 20; ++i) {
    for (const std::string& text : texts) {
      if (text.find('\n') != std::string::npos) continue;
      whole += "\n" + text;
    }
  }
  std::vector<std::int32_t> ids;
  tokenizer.encode(whole, ids);
  expected.push_back(lead[0]);
  for (int i = 0; i < 20; ++i) {
    for (const std::string& text : texts) {
      if (text.find('\n') != std::string::npos) continue;
      line.clear();
      tokenizer.encode("\n" + text, line);  // short texts are one call of the library
      expected.insert(expected.end(), line.begin() + 1, line.end());
    }
  }
  EXPECT_GT(whole.size(), 400000u);
  EXPECT_EQ(ids, expected);
}

// The library sums up scores in float from the start of the text, so that a long text drifts; lines are encoded for themselves.
TEST(Tokenizer, AUnigramTextOfManyLinesHasTheIdsOfItsLines) {
  const Tokenizer tokenizer(model("uni-bf"));
  std::vector<std::int32_t> lead, line, ids, expected;
  tokenizer.encode("\n", lead);
  expected.push_back(lead.front());
  std::string whole;
  for (int i = 0; i < 60000; ++i) {
    const std::string text = "\nthe convoy sails at " + std::to_string(i) + " knots, " + std::string(static_cast<std::size_t>(i % 40), 'o');
    line.clear();
    tokenizer.encode(text, line);
    ASSERT_EQ(line.front(), lead.front());
    whole += text;
    expected.insert(expected.end(), line.begin() + 1, line.end());
  }
  tokenizer.encode(whole, ids);
  EXPECT_GT(whole.size(), 2'000'000u);
  EXPECT_TRUE(ids == expected) << ids.size() << " ids, expected " << expected.size();
}

// The table of docs/preprocess.md: what a lossless model gives back, and what spm_train's defaults make of it.
TEST(Tokenizer, RareBlanksAndAccentsComeBackAsDocumented) {
  struct Row {
    const char *text, *lossless, *collapsed;
  };
  const Tokenizer bpe(model("bpe")), uni(model("uni"));
  const auto back = [](const Tokenizer& tokenizer, const char* text) {
    std::vector<std::int32_t> ids;
    tokenizer.encode(text, ids);
    return tokenizer.decode(ids);
  };
  for (const Row& row : {Row{"a\u2581b", "a b", "a b"}, Row{"a\u00a0b", "a\u00a0b", "a b"}, Row{"a\u3000b", "a\u3000b", "a b"},
                         Row{"a\u200bb", "a\u200bb", "a b"}, Row{"a\nb", "a\nb", "a b"}, Row{"a  b", "a  b", "a b"},
                         Row{"e\u0301t", "e\u0301t", nullptr}}) {
    EXPECT_EQ(back(bpe, row.text), row.lossless) << row.text;
    if (row.collapsed != nullptr) {
      EXPECT_EQ(back(uni, row.text), row.collapsed) << row.text;
    }
  }
}

TEST(Tokenizer, AMissingFileIsAUsageErrorAndOtherBytesADataError) {
  const TemporaryFolder folder;
  EXPECT_THROW(Tokenizer(folder / "none.model"), ConfigError);
  const std::string bpe = golden::content(model("bpe"));
  for (const std::string& bad : {std::string(), std::string("hello, world\n"), std::string(64, '\0'), bpe.substr(0, bpe.size() / 2),
                                 std::string("\x1f\x8b\x08\x00", 4), std::string("\x0a\x03\x0a\x01" "a", 5)}) {
    const Path path = folder.write("bad.model", bad);
    const std::string message = message_of<DataError>([&] { Tokenizer{path}; });
    EXPECT_THAT(message, HasSubstr("bad.model: the tokenizer is no SentencePiece model"));
  }
}

}  // namespace
}  // namespace convoy::data
