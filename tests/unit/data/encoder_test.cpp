// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encoder.h"

#include <gmock/gmock.h>

#include <map>

#include "file_size_limit.h"
#include "golden_json.h"
#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/data/encode_output.h"
#include "libcore/data/indexed_dataset.h"
#include "libcore/data/tokenizer.h"

namespace convoy::data {
namespace {

using golden::message_of;
using golden::TemporaryFolder;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

EncodeOptions options_for(const Path& input, const Path& model, const Path& out) {
  return {.inputs = {input.string()}, .keys = {"text"}, .tokenizer = golden::folder() / model, .out = out, .append_eos = true};
}

std::string sha256_of(const Path& path) { return sha256_hex(golden::content(path)); }

class EncoderTest : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kOff); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }
  TemporaryFolder folder;
};

TEST_F(EncoderTest, OtherIdsThanTheLibrarysEndTheRunAsOurFault) {
  const Path input = folder.write("a.jsonl", "{}\n");
  const EncodeOptions options = options_for(input, "models/bpe.model", folder / "x");
  const Tokenizer tokenizer(options.tokenizer);
  const std::vector<InputFile> files = expand_inputs(options.inputs);
  EncodeOutput output({.options = options, .tokenizer = tokenizer, .files = files});
  EncodedBatch batch;
  batch.difference = {3, "the ids differ"};
  const std::string message = message_of<InternalError>([&] { output.take(batch); });
  EXPECT_THAT(message, AllOf(HasSubstr("a.jsonl: line 3: the ids differ"), HasSubstr("bpe.model (sha256 " + tokenizer.sha256())));
}

TEST_F(EncoderTest, VerifiesEveryDocumentIfAsked) {
  EncodeOptions options = options_for(golden::folder() / "megatron" / "docs.jsonl", "models/bpe-nmt.model", folder / "x");
  options.verify_every = 1;
  EXPECT_GT(encode(options, {}).documents, 10);
}

TEST_F(EncoderTest, WritesMegatronsPairs) {
  const json expected = golden::json(golden::folder() / "megatron" / "expected.json");
  EXPECT_EQ(expected["pairs"].size(), 6u);
  for (const json& pair : expected["pairs"]) {
    SCOPED_TRACE(pair["name"].get<std::string>());
    const Path input = golden::folder() / "megatron" / pair["input"].get<std::string>();
    const EncodeReport report = encode(options_for(input, pair["model"].get<std::string>(), folder / "x"), {});
    EXPECT_EQ(report.documents, pair["documents"].get<std::int64_t>());
    EXPECT_EQ(report.tokens, pair["tokens"].get<std::int64_t>());
    EXPECT_EQ(report.empty, pair["empty_dropped"].get<std::int64_t>());
    EXPECT_EQ(report.dtype, pair["dtype"].get<std::string>());
    EXPECT_EQ(sha256_of(folder / "x.bin"), pair["bin_sha256"].get<std::string>());
    EXPECT_EQ(sha256_of(folder / "x.idx"), pair["idx_sha256"].get<std::string>());
    const IndexedDataset dataset(folder / "x", false);
    EXPECT_EQ(dataset.meta()->vocabulary, pair["vocab"].get<std::int64_t>());
    EXPECT_EQ(dataset.meta()->eos_id, pair["eod"].get<std::int32_t>());
  }
}

EncodeOptions options_of_case(const json& one, const char* policy, const Path& out) {
  EncodeOptions options = options_for("", one["model"].get<std::string>(), out);
  options.inputs.clear();
  for (const json& file : one["files"]) options.inputs.push_back((golden::folder() / "inputs" / file["path"].get<std::string>()).string());
  options.keys = {one["key"].get<std::string>()};
  options.on_error = std::string(policy) == "skip" ? OnError::kQuarantine : OnError::kFail;
  options.threads = 2;
  return options;
}

void expect_success(const json& expected, const EncodeReport& report, const Path& out) {
  EXPECT_EQ(report.documents, expected["documents"].get<std::int64_t>());
  EXPECT_EQ(report.tokens, expected["tokens"].get<std::int64_t>());
  EXPECT_EQ(report.empty, expected["empty"].get<std::int64_t>());
  EXPECT_EQ(report.bad_records, expected["bad_records"].get<std::int64_t>());
  EXPECT_EQ(report.dtype, expected["dtype"].get<std::string>());
  EXPECT_EQ(sha256_of(bin_path(out)), expected["bin_sha256"].get<std::string>());
  EXPECT_EQ(sha256_of(idx_path(out)), expected["idx_sha256"].get<std::string>());
}

// Each bad line's number and kind, in order.
void expect_quarantine(const json& expected, const Path& out) {
  std::vector<std::pair<std::int64_t, std::string>> want, got;
  for (const json& bad : expected["bad_lines"]) want.emplace_back(bad["line"], bad["kind"]);
  for (const json& row : golden::json_lines(out.string() + ".quarantine.jsonl")) got.emplace_back(row["line"], row["kind"]);
  EXPECT_EQ(got, want);
}

void expect_failure(const json& expected, const std::string& message, const TemporaryFolder& folder) {
  EXPECT_THAT(expected["exit"].get<std::vector<int>>(), testing::Contains(3)) << message;
  if (expected.contains("message_names")) {
    for (const json& name : expected["message_names"]) EXPECT_THAT(message, HasSubstr(name.get<std::string>()));
  }
  EXPECT_THAT(folder.names(), ElementsAre()) << "a failed run leaves nothing";
}

TEST_F(EncoderTest, DoesWhatTheTrapInputsAskFor) {
  int cases = 0;
  const json all = golden::json(golden::folder() / "inputs" / "cases.json");
  for (const json& one : all["cases"]) {
    for (const char* policy : {"strict", "skip"}) {
      SCOPED_TRACE(one["name"].get<std::string>() + ", " + policy);
      const TemporaryFolder own;
      const EncodeOptions options = options_of_case(one, policy, own / "x");
      const json& expected = one["expect"][policy];
      try {
        const EncodeReport report = encode(options, {});
        expect_success(expected, report, options.out);
        if (options.on_error == OnError::kQuarantine) expect_quarantine(expected, options.out);
      } catch (const DataError& error) {
        expect_failure(expected, error.what(), own);
      }
      ++cases;
    }
  }
  EXPECT_EQ(cases, 60);
}

TEST_F(EncoderTest, TheBytesDoNotDependOnThreadsOrPacking) {
  const Path inputs = golden::folder() / "inputs";
  std::string sum;
  for (const char* name : {"plain.jsonl", "members.jsonl.gz", "frames.jsonl.zst"}) {
    for (const int threads : {1, 2, 5}) {
      EncodeOptions options = options_for(inputs / name, "models/bpe.model", folder / "x");
      options.threads = threads;
      encode(options, {});
      const std::string here = sha256_of(folder / "x.bin") + sha256_of(folder / "x.idx");
      if (sum.empty()) sum = here;
      EXPECT_EQ(here, sum) << name << ", " << threads << " threads";
    }
  }
}

// The second pair is the larger one: when it meets the full disk, the first is complete.
TEST_F(EncoderTest, AFullDiskKeepsEveryOldPair) {
  EncodeOptions options = options_for(golden::folder() / "megatron" / "docs.jsonl", "models/bpe.model", folder / "x");
  options.splits = parse_splits("train=0.2,valid=0.8");
  encode(options, {});
  const auto files = [&] {
    std::map<std::string, std::string> contents;
    for (const std::string& name : folder.names()) contents[name] = golden::content(folder / name);
    return contents;
  };
  const auto before = files();
  EXPECT_EQ(before.size(), 6u);
  const auto large = std::filesystem::file_size(folder / "x.valid.bin");
  EXPECT_GT(large, 2 * std::filesystem::file_size(folder / "x.train.bin"));
  options.prepend_bos = true;
  {
    const golden::FileSizeLimit limit(large - 1);
    EXPECT_THAT(message_of<EnvironmentError>([&] { encode(options, {}); }), HasSubstr("x.valid.bin"));
  }
  EXPECT_TRUE(files() == before);
  encode(options, {});
  EXPECT_NE(files()["x.train.bin"], before.at("x.train.bin"));
}

TEST_F(EncoderTest, ASplitHoldsEveryDocumentOnceInOrder) {
  EncodeOptions options = options_for(golden::folder() / "megatron" / "docs.jsonl", "models/bpe.model", folder / "x");
  encode(options, {});
  options.splits = parse_splits("train=0.8,valid=0.2");
  const EncodeReport report = encode(options, {});
  EXPECT_THAT(report.outputs, ElementsAre((folder / "x.train").string(), (folder / "x.valid").string()));
  const IndexedDataset whole(folder / "x", false), train(folder / "x.train", false), valid(folder / "x.valid", false);
  EXPECT_EQ(train.documents() + valid.documents(), whole.documents());
  EXPECT_EQ(train.tokens() + valid.tokens(), whole.tokens());
  EXPECT_EQ(report.documents, whole.documents());
  // 258 documents, a share of 0.2: 52 expected, standard deviation 6.4.
  EXPECT_GT(valid.documents(), 52 - 26);
  EXPECT_LT(valid.documents(), 52 + 26);
  const auto ids = [](const IndexedDataset& dataset, std::int64_t d) {
    const auto [begin, end] = dataset.document(d);
    std::vector<std::int32_t> out(static_cast<std::size_t>(end - begin));
    dataset.read(begin, out);
    return out;
  };
  std::int64_t a = 0, b = 0;
  for (std::int64_t d = 0; d < whole.documents(); ++d) {
    if (a < train.documents() && ids(train, a) == ids(whole, d)) {
      ++a;
    } else if (b < valid.documents() && ids(valid, b) == ids(whole, d)) {
      ++b;
    }
  }
  EXPECT_EQ(a, train.documents());
  EXPECT_EQ(b, valid.documents());
}

TEST_F(EncoderTest, ASplitWithoutDocumentsIsRefusedAndNothingIsWritten) {
  EncodeOptions options = options_for(golden::folder() / "inputs" / "plain.jsonl", "models/bpe.model", folder / "x");
  options.splits = parse_splits("train=0.9999999,valid=0.0000001");
  EXPECT_THAT(message_of<DataError>([&] { encode(options, {}); }), HasSubstr("fell into 'valid'"));
  EXPECT_THAT(folder.names(), ElementsAre());
}

TEST_F(EncoderTest, AFailedRunKeepsTheOlderOutput) {
  EncodeOptions options = options_for(golden::folder() / "inputs" / "plain.jsonl", "models/bpe.model", folder / "x");
  encode(options, {});
  const std::string before = sha256_of(folder / "x.bin");
  options.inputs = {(golden::folder() / "inputs" / "badline.jsonl").string()};
  EXPECT_THROW(encode(options, {}), DataError);
  EXPECT_EQ(sha256_of(folder / "x.bin"), before);
  EXPECT_NO_THROW(IndexedDataset(folder / "x", false));
  EXPECT_THAT(folder.names(), ElementsAre("x.bin", "x.idx", "x.meta.json"));
}

TEST_F(EncoderTest, StopsWhenPollThrowsAndLeavesNothing) {
  const EncodeOptions options = options_for(golden::folder() / "inputs" / "plain.jsonl", "models/bpe.model", folder / "x");
  EXPECT_THROW(encode(options, {.progress = {}, .poll = [] { throw EnvironmentError("signal"); }}), EnvironmentError);
  EXPECT_THAT(folder.names(), ElementsAre());
}

TEST_F(EncoderTest, CountsBadRecordsAgainstTheLimit) {
  EncodeOptions options = options_for(golden::folder() / "inputs" / "badkinds.jsonl", "models/bpe.model", folder / "x");
  options.on_error = OnError::kSkip;
  options.max_errors = 13;
  EXPECT_THAT(message_of<DataError>([&] { encode(options, {}); }), HasSubstr("badkinds.jsonl: line 16"));
  options.max_errors = 14;
  EXPECT_EQ(encode(options, {}).bad_records, 14);
}

TEST_F(EncoderTest, RefusesWhatTheModelLacks) {
  EncodeOptions options = options_for(golden::folder() / "inputs" / "plain.jsonl", "models/bpe-65500.model", folder / "x");
  options.dtype = "u16";
  encode(options, {});
  EXPECT_EQ(IndexedDataset(folder / "x", false).token_type(), TokenType::kU16);
  options.max_errors = 5;
  EXPECT_THAT(message_of<ConfigError>([&] { encode(options, {}); }), HasSubstr("--max-errors"));
}

TEST_F(EncoderTest, MetadataHoldTheReportAndTheSources) {
  const EncodeOptions options = options_for(golden::folder() / "inputs" / "emptydocs.jsonl", "models/bpe.model", folder / "x");
  const EncodeReport report = encode(options, {});
  const json meta = golden::json(folder / "x.meta.json"), told = json::parse(report.json());
  for (const char* key : {"documents", "tokens", "bytes_in", "empty", "bad_records", "duplicates", "dtype", "outputs", "seconds", "mb_per_s"}) {
    EXPECT_EQ(meta.at(key), told.at(key)) << key;
  }
  EXPECT_EQ(meta["tokens"], 401);
  EXPECT_EQ(meta["empty"], 3);
  EXPECT_EQ(meta["bytes_in"], 816);
  EXPECT_EQ(meta["sources"][0]["bytes"], 816);
  EXPECT_EQ(meta["tokenizer"]["type"], "sentencepiece-bpe");
  EXPECT_EQ(meta["bin_xxh3_128"], xxh3_128_hex(golden::content(folder / "x.bin")));
}

// Blanks are text to a model that keeps them, and nothing to one that collapses them.
TEST_F(EncoderTest, WhiteSpaceIsADocumentWhereTheModelKeepsIt) {
  folder.write("x.jsonl", "{\"text\": \" \\n\\t \"}\n{\"text\": \"a\"}\n");
  const EncodeReport kept = encode(options_for(folder / "x.jsonl", "models/bpe.model", folder / "kept"), {});
  EXPECT_EQ(kept.documents, 2);
  EXPECT_EQ(kept.empty, 0);
  const EncodeReport collapsed = encode(options_for(folder / "x.jsonl", "models/uni.model", folder / "collapsed"), {});
  EXPECT_EQ(collapsed.documents, 1);
  EXPECT_EQ(collapsed.empty, 1);
}

TEST_F(EncoderTest, NulEndsNothing) {
  folder.write("x.jsonl", "{\"text\": \"a\\u0000b\"}\n");
  encode(options_for(folder / "x.jsonl", "models/bpe.model", folder / "x"), {});
  const IndexedDataset dataset(folder / "x", false);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(dataset.tokens()));
  dataset.read(0, ids);
  const Tokenizer tokenizer(golden::folder() / "models/bpe.model");
  EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [&](std::int32_t id) { return tokenizer.piece(id) == "<0x00>"; }), 1);
  ids.pop_back();  // the end-of-document id
  EXPECT_EQ(tokenizer.decode(ids), std::string("a\0b", 3));
}

// A piece as SentencePiece's ModelProto holds it: field 1 of the model with fields 1 (text), 2 (score) and 3 (kind) of the piece.
std::string unused_piece(int number) {
  const std::string text = "unused" + std::to_string(number);
  const std::string score("\x15\0\0\0\0", 5), unused("\x18\x05", 2);
  const std::string body = std::string("\x0a") + static_cast<char>(text.size()) + text + score + unused;
  return std::string("\x0a") + static_cast<char>(body.size()) + body;
}

// 70,000 pieces: ids beyond 65,535 would wrap around in u16.
TEST_F(EncoderTest, AVocabularyThatU16CannotHoldIsWrittenAsI32OrRefused) {
  std::string model = golden::content(golden::folder() / "models/bpe-65500.model");
  for (int i = 65500; i < 70000; ++i) model += unused_piece(i);
  folder.write("large.model", model);
  EncodeOptions options = options_for(golden::folder() / "inputs/plain.jsonl", folder / "large.model", folder / "x");
  encode(options, {});
  EXPECT_EQ(IndexedDataset(folder / "x", false).token_type(), TokenType::kI32);
  EXPECT_EQ(IndexedDataset(folder / "x", false).meta()->vocabulary, 70000);
  options.dtype = "u16";
  EXPECT_THAT(message_of<ConfigError>([&] { encode(options, {}); }), testing::AllOf(HasSubstr("--dtype u16"), HasSubstr("70000")));
}

TEST(ParseSplits, TakesSharesThatSumToOne) {
  const std::vector<Split> splits = parse_splits("train=0.9,valid=0.05,test=0.05");
  ASSERT_EQ(splits.size(), 3u);
  EXPECT_EQ(splits[1].name, "valid");
  EXPECT_EQ(splits[2].share, 0.05);
  for (const char* bad : {"", "train", "train=1", "train=0.5,valid=0.4", "train=0.5,train=0.5", "a/b=0.5,c=0.5", "=0.5,b=0.5", "a=0.5,b=0.5,",
                          "a=x,b=0.5", "a=-0.5,b=1.5"}) {
    EXPECT_THROW(parse_splits(bad), ConfigError) << bad;
  }
}

}  // namespace
}  // namespace convoy::data
