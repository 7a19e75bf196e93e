// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/tokenizer_trainer.h"

#include <gmock/gmock.h>

#include "golden_json.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/data/tokenizer.h"

namespace convoy::data {
namespace {

using golden::message_of;
using golden::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

class TokenizerTrainerTest : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kOff); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  TrainTokenizerOptions options(std::int64_t vocabulary) const {
    return {.inputs = {(golden::folder() / "megatron" / "docs.jsonl").string()},
            .keys = {"text"},
            .out = folder / "t",
            .kind = "bpe",
            .vocabulary = vocabulary,
            .sample_bytes = 40000,
            .character_coverage = 0.98};
  }
  TemporaryFolder folder;
};

TEST_F(TokenizerTrainerTest, TrainsAModelThatLosesNothing) {
  for (const char* kind : {"bpe", "unigram"}) {
    TrainTokenizerOptions wanted = options(500);
    wanted.kind = kind;
    const TrainTokenizerReport report = train_tokenizer(wanted, {});
    EXPECT_EQ(report.pieces, 500);
    const Tokenizer tokenizer(folder / "t.model");
    EXPECT_EQ(tokenizer.lossy_reason(), "");
    EXPECT_EQ(tokenizer.facts().kind, std::string("sentencepiece-") + kind);
    EXPECT_EQ(tokenizer.sha256(), report.sha256);
    EXPECT_EQ(tokenizer.eos_id(), 2);
    for (const auto& row : golden::json_lines(golden::folder() / "tokens" / "bpe.jsonl")) {
      const std::string text = golden::from_base64(row["text_b64"].get<std::string>());
      std::vector<std::int32_t> ids;
      tokenizer.encode(text, ids);
      const bool lossless = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore) ==
                                nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) &&
                            text.find("\xe2\x96\x81") == std::string::npos;  // valid UTF-8 without the blank's own mark
      if (lossless) {
        EXPECT_EQ(tokenizer.decode(ids), text) << row["name"];
      }
    }
  }
}

TEST_F(TokenizerTrainerTest, NoPieceHoldsANewline) {
  train_tokenizer(options(600), {});
  const Tokenizer tokenizer(folder / "t.model");
  for (int id = 0; id < 600; ++id) EXPECT_EQ(tokenizer.piece(id).find('\n'), std::string::npos) << id;
}

TEST_F(TokenizerTrainerTest, GivesTheSameBytesForTheSameSeed) {
  const std::string first = (train_tokenizer(options(600), {}), golden::content(folder / "t.model"));
  train_tokenizer(options(600), {});
  EXPECT_EQ(golden::content(folder / "t.model"), first);
  TrainTokenizerOptions other = options(600);
  other.seed = 2;
  train_tokenizer(other, {});
  EXPECT_NE(golden::content(folder / "t.model"), first);
}

TEST_F(TokenizerTrainerTest, UserSymbolsAreOnePieceEach) {
  TrainTokenizerOptions wanted = options(600);
  wanted.user_symbols = {"<|user|>", "a,b", "say \"x\"", "    "};
  train_tokenizer(wanted, {});
  const Tokenizer tokenizer(folder / "t.model");
  for (const std::string& symbol : wanted.user_symbols) {
    std::vector<std::int32_t> ids, around;
    tokenizer.encode("q" + symbol + "q", ids);
    EXPECT_EQ(ids.size(), 4u) << symbol;  // blank, q, symbol, q or blank and q in one
    EXPECT_EQ(tokenizer.decode(ids), "q" + symbol + "q");
  }
}

TEST_F(TokenizerTrainerTest, WritesPiecesAndScoresBesideTheModel) {
  train_tokenizer(options(600), {});
  const std::string vocabulary = golden::content(folder / "t.vocab");
  EXPECT_EQ(std::count(vocabulary.begin(), vocabulary.end(), '\n'), 600);
  EXPECT_TRUE(vocabulary.starts_with("<unk>\t0\n<s>\t0\n</s>\t0\n<0x00>\t0\n"));
  EXPECT_THAT(folder.names(), ElementsAre("t.model", "t.vocab"));
}

TEST_F(TokenizerTrainerTest, RefusesAVocabularyThatDoesNotFitTheText) {
  const std::string much = message_of<ConfigError>([&] { train_tokenizer(options(60000), {}); });
  EXPECT_THAT(much, HasSubstr("--vocab-size 60000"));
  EXPECT_THAT(much, HasSubstr("nearest legal value is"));
  const std::string little = message_of<ConfigError>([&] { train_tokenizer(options(261), {}); });
  EXPECT_THAT(little, HasSubstr("--vocab-size 261"));
  EXPECT_THAT(message_of<ConfigError>([&] { train_tokenizer(options(100), {}); }), HasSubstr("the least is 260"));
  EXPECT_THAT(folder.names(), ElementsAre());
}

TEST_F(TokenizerTrainerTest, RefusesSymbolsThatAreReservedRepeatedOrEmpty) {
  TrainTokenizerOptions wanted = options(600);
  wanted.user_symbols = {"<s>", "", "x", "x", "<0x41>", "\xff"};
  const std::string message = message_of<ConfigError>([&] { train_tokenizer(wanted, {}); });
  for (const char* part : {"\"<s>\"", "is empty", "\"x\": given twice", "\"<0x41>\"", "not valid UTF-8"}) EXPECT_THAT(message, HasSubstr(part));
}

TEST_F(TokenizerTrainerTest, RefusesAnEmptyTextAndABadRecord) {
  TrainTokenizerOptions wanted = options(600);
  wanted.inputs = {(golden::folder() / "inputs" / "empty.jsonl").string()};
  EXPECT_THAT(message_of<DataError>([&] { train_tokenizer(wanted, {}); }), HasSubstr("no text"));
  wanted.inputs = {(golden::folder() / "inputs" / "badline.jsonl").string()};
  EXPECT_THAT(message_of<DataError>([&] { train_tokenizer(wanted, {}); }), HasSubstr("badline.jsonl: line 16"));
}

}  // namespace
}  // namespace convoy::data
