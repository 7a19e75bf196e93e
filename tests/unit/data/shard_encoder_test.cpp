// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/shard_encoder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "golden.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/data/indexed_dataset.h"
#include "libcore/data/plan_inputs.h"
#include "libcore/data/shard_files.h"
#include "libcore/data/shard_merge.h"

namespace convoy::data {
namespace {

using golden::message_of;
using golden::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

class ShardEncoderTest : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kOff); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  EncodeOptions options_for(std::vector<std::string> inputs) const {
    return {.inputs = std::move(inputs),
            .keys = {"text"},
            .tokenizer = golden::folder() / "models/bpe.model",
            .out = folder / "whole",
            .append_eos = true};
  }
  // Plans, encodes every shard and merges to folder/merged.
  EncodeReport by_shards(const EncodeOptions& options, std::int64_t shards) const {
    const Path plan = write_plan(options, shards);
    for (std::int64_t shard = 0; shard < shards; ++shard) encode_shard(plan, shard, {.threads = 1}, {});
    return merge_shards(plan, folder / "merged", {});
  }
  Path write_plan(const EncodeOptions& options, std::int64_t shards) const {
    const Path path = folder.write("shards/plan.json", plan_text(make_plan(options, shards)));
    return path;
  }
  // The metadata without what cannot be the same: the prefix and the seconds.
  std::string comparable_meta(const Path& prefix) const {
    std::string text = golden::content(meta_path(prefix));
    const std::size_t begin = text.find("\"outputs\":"), end = text.find("\"vocab_size\":");
    return begin < end ? text.erase(begin, end - begin) : text;
  }
  void expect_same(const std::string& merged, const std::string& whole) const {
    EXPECT_EQ(golden::content(bin_path(folder / merged)), golden::content(bin_path(folder / whole)));
    EXPECT_EQ(golden::content(idx_path(folder / merged)), golden::content(idx_path(folder / whole)));
    EXPECT_EQ(comparable_meta(folder / merged), comparable_meta(folder / whole));
  }
  TemporaryFolder folder;
};

std::vector<std::string> names_in(const Path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  return names;
}

std::string golden_input(const char* name) { return (golden::folder() / "inputs" / name).string(); }

TEST_F(ShardEncoderTest, ShardsMergedAreOneRunWhateverTheirNumber) {
  folder.write("text.txt", "one\ntwo\n\nthree\n \t\n\n\nfour\nfive\nsix\n\nseven\n");
  folder.write("none.txt", "");
  EncodeOptions options = options_for({golden_input("a.jsonl"), (folder / "text.txt").string(), golden_input("b.jsonl.gz"),
                                       (folder / "none.txt").string(), golden_input("c.jsonl.zst"), golden_input("crlf.jsonl"),
                                       golden_input("bom.jsonl"), golden_input("emptydocs.jsonl")});
  for (const DocumentSeparator separator : {DocumentSeparator::kFile, DocumentSeparator::kLine, DocumentSeparator::kBlankLine}) {
    options.read.separator = separator;
    encode(options, {});
    for (const std::int64_t shards : {1, 2, 7, 20}) {
      SCOPED_TRACE(fmt::format("{} shards, {}", shards, name_of(separator)));
      by_shards(options, shards);
      expect_same("merged", "whole");
    }
  }
}

// One line as long as three shards, between short ones.
TEST_F(ShardEncoderTest, ADocumentLargerThanShardsIsInOneOfThem) {
  const std::string line = "{\"text\": \"short\"}\n";
  folder.write("x.jsonl", line + "{\"text\": \"" + std::string(3000, 'l') + "\"}\n" + line);
  const EncodeOptions options = options_for({(folder / "x.jsonl").string()});
  encode(options, {});
  EXPECT_EQ(by_shards(options, 4).documents, 3);
  expect_same("merged", "whole");
}

TEST_F(ShardEncoderTest, SplitsAreMergedEachForItself) {
  EncodeOptions options = options_for({(golden::folder() / "megatron/docs.jsonl").string()});
  options.splits = parse_splits("train=0.97,valid=0.03");  // some shards have no document of the smaller one
  encode(options, {});
  const EncodeReport report = by_shards(options, 30);
  expect_same("merged.train", "whole.train");
  expect_same("merged.valid", "whole.valid");
  EXPECT_THAT(report.outputs, testing::ElementsAre((folder / "merged.train").string(), (folder / "merged.valid").string()));
}

TEST_F(ShardEncoderTest, BadRecordsHaveTheirLinesInTheFile) {
  EncodeOptions options = options_for({golden_input("badkinds.jsonl"), golden_input("badline.jsonl"), golden_input("badkinds.jsonl")});
  options.on_error = OnError::kQuarantine;
  encode(options, {});
  for (const std::int64_t shards : {1, 5, 12}) {
    by_shards(options, shards);
    expect_same("merged", "whole");
    EXPECT_EQ(golden::content(folder / "merged.quarantine.jsonl"), golden::content(folder / "whole.quarantine.jsonl")) << shards;
  }
  EXPECT_THAT(golden::content(folder / "whole.quarantine.jsonl"), HasSubstr("\"line\":16"));
}

TEST_F(ShardEncoderTest, MaxErrorsCountsAShardAndTheMerge) {
  // Two bad lines in each half.
  const std::string half = "{\"text\": \"good\"}\n{bad\n{bad\n";
  folder.write("x.jsonl", half + half);
  EncodeOptions options = options_for({(folder / "x.jsonl").string()});
  options.on_error = OnError::kSkip;
  options.max_errors = 1;
  EXPECT_THAT(message_of<DataError>([&] { by_shards(options, 2); }), HasSubstr("--max-errors 1"));
  options.max_errors = 2;
  EXPECT_THAT(message_of<DataError>([&] { by_shards(options, 2); }), AllOf(HasSubstr("4 bad records in all shards"), HasSubstr("--max-errors 2")));
  EXPECT_FALSE(std::filesystem::exists(folder / "merged.bin"));
  options.max_errors = 4;
  EXPECT_EQ(by_shards(options, 2).bad_records, 4);
}

TEST_F(ShardEncoderTest, ABadRecordNamesTheByteItsLinesAreCountedFrom) {
  const std::string good = "{\"text\": \"good\"}\n";
  folder.write("x.jsonl", good + good + good + "{bad\n");
  const Path plan = write_plan(options_for({(folder / "x.jsonl").string()}), 2);
  // Half of 56 bytes is 28; the next line begins at 34.
  EXPECT_THAT(message_of<DataError>([&] { encode_shard(plan, 1, {.threads = 1}, {}); }), AllOf(HasSubstr("x.jsonl"), HasSubstr("line 2 from byte 34 on")));
}

TEST_F(ShardEncoderTest, NoDocumentsAtAllAreRefusedByTheMergeAsByOneRun) {
  folder.write("x.jsonl", "{\"text\": \"\"}\n{\"text\": \"\"}\n");
  EXPECT_THAT(message_of<DataError>([&] { by_shards(options_for({(folder / "x.jsonl").string()}), 2); }),
              AllOf(HasSubstr("no documents"), HasSubstr("x.jsonl"), HasSubstr("2 empty")));
}

TEST_F(ShardEncoderTest, MoreThanAThousandShardsMostlyEmpty) {
  folder.write("x.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n{\"text\": \"three\"}\n");
  const EncodeOptions options = options_for({(folder / "x.jsonl").string()});
  encode(options, {});
  by_shards(options, 1005);
  expect_same("merged", "whole");
}

TEST_F(ShardEncoderTest, ACompleteShardIsLeftAsItIs) {
  const Path plan = write_plan(options_for({golden_input("a.jsonl")}), 2);
  EXPECT_FALSE(encode_shard(plan, 1, {.threads = 1}, {}).was_complete);
  const Path prefix = shard_prefix(plan, 1);
  const auto written = std::filesystem::last_write_time(bin_path(prefix));
  const ShardResult again = encode_shard(plan, 1, {.threads = 1}, {});
  EXPECT_TRUE(again.was_complete);
  EXPECT_EQ(again.report.documents, IndexedDataset(prefix, false).documents());
  EXPECT_EQ(std::filesystem::last_write_time(bin_path(prefix)), written);
}

// What a kill between two renames leaves: the files before it in the order of the commit, without those behind it.
TEST_F(ShardEncoderTest, AShardThatLacksAFileOrHasAnotherSizeIsMissingAndEncodedAgain) {
  const Path plan_file = write_plan(options_for({golden_input("a.jsonl")}), 2);
  const ShardPlan plan = read_plan(plan_file);
  const Path prefix = shard_prefix(plan_file, 0);
  encode_shard(plan_file, 0, {.threads = 1}, {});
  const std::string bin = golden::content(bin_path(prefix));
  for (const Path& lost : {record_path(prefix), meta_path(prefix), bin_path(prefix), idx_path(prefix)}) {
    std::filesystem::remove(lost);
    EXPECT_FALSE(look_at_shard(plan, plan_file, 0).complete()) << lost;
    EXPECT_FALSE(encode_shard(plan_file, 0, {.threads = 1}, {}).was_complete) << lost;
    EXPECT_TRUE(look_at_shard(plan, plan_file, 0).complete()) << lost;
    EXPECT_EQ(golden::content(bin_path(prefix)), bin);
  }
  // All that is behind one rename of the commit: index, tokens, metadata, record.
  std::filesystem::remove(record_path(prefix));
  for (const Path& lost : {meta_path(prefix), bin_path(prefix)}) {
    std::filesystem::remove(lost);
    EXPECT_FALSE(look_at_shard(plan, plan_file, 0).complete());
  }
  EXPECT_FALSE(encode_shard(plan_file, 0, {.threads = 1}, {}).was_complete);
  std::filesystem::resize_file(bin_path(prefix), bin.size() - 2);
  EXPECT_THAT(look_at_shard(plan, plan_file, 0).flaw, AllOf(HasSubstr("shard-00000.bin"), HasSubstr("bytes")));
  for (const char* record : {"", "{}", "null", "{\"format_version\":1}", "{\"format_version\":9}"}) {
    folder.write("shards/shard-00000.json", record);
    EXPECT_THAT(look_at_shard(plan, plan_file, 0).flaw, HasSubstr("shard-00000.json")) << record;
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// A record as a damaged disk or a helping hand leaves it: readable, with numbers that are not those of its pairs.
TEST_F(ShardEncoderTest, ARecordWhoseNumbersAreNotThoseOfItsPairsIsNoRecord) {
  folder.write("x.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\nbad\n");
  EncodeOptions options = options_for({(folder / "x.jsonl").string()});
  options.on_error = OnError::kSkip;
  const Path plan_file = write_plan(options, 1);
  const ShardPlan plan = read_plan(plan_file);
  encode_shard(plan_file, 0, {.threads = 1}, {});
  const std::string good = golden::content(folder / "shards/shard-00000.json");
  const auto flaw_of = [&](const std::string& from, const std::string& to) {
    const std::string text = replaced(good, from, to);
    EXPECT_NE(text, good) << from;
    folder.write("shards/shard-00000.json", text);
    return look_at_shard(plan, plan_file, 0).flaw;
  };
  const std::string huge = "9223372036854775807";
  EXPECT_THAT(flaw_of("\"documents\":2", "\"documents\":3"), AllOf(HasSubstr("shard-00000.json"), HasSubstr("documents 2 in its pairs and 3 in all")));
  EXPECT_THAT(flaw_of("\"split\":0,\"documents\":2", "\"split\":0,\"documents\":" + huge), HasSubstr("documents"));
  EXPECT_THAT(flaw_of("\"tokens\":", "\"tokens\":1"), HasSubstr("tokens"));
  EXPECT_THAT(flaw_of("\"bytes_text\":6", "\"bytes_text\":" + huge), AllOf(HasSubstr("meta.json has bytes_text 6"), HasSubstr(huge)));
  EXPECT_THAT(flaw_of("\"bad_records\":1", "\"bad_records\":0"), HasSubstr("bad_records"));
  EXPECT_THAT(flaw_of("\"lines\":[3]", "\"lines\":[" + huge + "]"), HasSubstr("lines"));
  EXPECT_THAT(flaw_of("\"lines\":[3]", "\"lines\":[\"3\"]"), HasSubstr("lines"));
  EXPECT_THAT(message_of<DataError>([&] { merge_shards(plan_file, folder / "merged", {}); }), HasSubstr("--array=0"));
}

// Shards without documents have no metadata that their numbers could be held against.
TEST_F(ShardEncoderTest, CountsThatAddUpBeyondSixtyFourBitsAreRefused) {
  folder.write("x.txt", "the only document");
  const Path plan_file = write_plan(options_for({(folder / "x.txt").string()}), 3);
  for (std::int64_t shard = 0; shard < 3; ++shard) encode_shard(plan_file, shard, {.threads = 1}, {});
  const std::string record = golden::content(folder / "shards/shard-00000.json");
  folder.write("shards/shard-00000.json", replaced(record, "\"bytes_text\":0", "\"bytes_text\":9223372036854775807"));
  EXPECT_THAT(message_of<DataError>([&] { merge_shards(plan_file, folder / "merged", {}); }), HasSubstr("9223372036854775807"));
}

TEST_F(ShardEncoderTest, AMergeWritesOverNoFileOfItsOwnShards) {
  const Path plan_file = write_plan(options_for({golden_input("a.jsonl")}), 2);
  for (std::int64_t shard = 0; shard < 2; ++shard) encode_shard(plan_file, shard, {.threads = 1}, {});
  for (const char* out : {"shards/shard-00001", "shards/shard-00007", "shards/../shards/shard-00000.x"}) {
    EXPECT_THAT(message_of<ConfigError>([&] { merge_shards(plan_file, folder / out, {}); }), HasSubstr("those of its shards")) << out;
  }
  EXPECT_TRUE(missing_shards(read_plan(plan_file), plan_file).empty());
  EXPECT_NO_THROW(merge_shards(plan_file, folder / "shards/all", {}));
}

TEST_F(ShardEncoderTest, NoOtherRunWritesOverAShardOfAPlan) {
  const EncodeOptions options = options_for({golden_input("a.jsonl")});
  const Path plan_file = write_plan(options, 1);
  encode_shard(plan_file, 0, {.threads = 1}, {});
  encode(options, {});
  EncodeOptions over = options;
  over.out = folder / "shards/shard-00000";
  EXPECT_THAT(message_of<ConfigError>([&] { encode(over, {}); }), HasSubstr("a shard of a plan"));
  EXPECT_THAT(message_of<ConfigError>([&] { merge_pairs({folder / "whole"}, over.out, {}); }), HasSubstr("a shard of a plan"));
  EXPECT_TRUE(missing_shards(read_plan(plan_file), plan_file).empty());
}

TEST_F(ShardEncoderTest, AListOfBadRecordsOfAnOlderRunDoesNotStayBesideNewPairs) {
  folder.write("x.jsonl", "{\"text\": \"one\"}\nbad\n");
  EncodeOptions listing = options_for({(folder / "x.jsonl").string()}), skipping = listing;
  listing.on_error = OnError::kQuarantine;
  skipping.on_error = OnError::kSkip;
  const Path list = folder / "whole.quarantine.jsonl";
  encode(listing, {});
  EXPECT_TRUE(std::filesystem::exists(list));
  encode(skipping, {});
  EXPECT_FALSE(std::filesystem::exists(list));
  by_shards(listing, 1);
  EXPECT_TRUE(std::filesystem::exists(folder / "merged.quarantine.jsonl"));
  by_shards(skipping, 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "merged.quarantine.jsonl"));
  EXPECT_FALSE(std::filesystem::exists(folder / "shards/shard-00000.quarantine.jsonl"));
  by_shards(listing, 1);
  merge_pairs({folder / "whole"}, folder / "merged", {});
  EXPECT_FALSE(std::filesystem::exists(folder / "merged.quarantine.jsonl"));
  encode(listing, {});
  std::filesystem::remove(folder / "x.jsonl");
  EXPECT_THROW(encode(skipping, {}), Error);
  EXPECT_TRUE(std::filesystem::exists(list)) << "as long as its pair stays";
}

TEST_F(ShardEncoderTest, AShardOfAnotherPlanIsMissingAndReplaced) {
  EncodeOptions options = options_for({golden_input("a.jsonl")});
  encode_shard(write_plan(options, 2), 0, {.threads = 1}, {});
  options.append_eos = false;
  encode(options, {});
  const Path plan_file = write_plan(options, 2);
  EXPECT_THAT(look_at_shard(read_plan(plan_file), plan_file, 0).flaw, HasSubstr("another plan"));
  EXPECT_THAT(message_of<DataError>([&] { merge_shards(plan_file, folder / "merged", {}); }),
              AllOf(HasSubstr("--array=0-1"), HasSubstr("another plan")));
  by_shards(options, 2);
  expect_same("merged", "whole");
}

TEST_F(ShardEncoderTest, AnEmptyShardLeavesNoPairOfAnotherPlanBehind) {
  EncodeOptions options = options_for({folder.write("x.txt", "one document").string()});
  encode_shard(write_plan(options, 1), 0, {.threads = 1}, {});
  const Path plan = write_plan(options, 3);  // the middle one has the document
  EXPECT_EQ(encode_shard(plan, 0, {.threads = 1}, {}).report.documents, 0);
  EXPECT_THAT(names_in(folder / "shards"), testing::UnorderedElementsAre("plan.json", "shard-00000.json"));
}

TEST_F(ShardEncoderTest, AnInputThatChangedIsRefusedWithWhatWasExpected) {
  const Path input = folder.write("x.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
  const Path plan = write_plan(options_for({input.string()}), 2);
  const auto time = std::filesystem::last_write_time(input);
  const auto refusal = [&] { return message_of<DataError>([&] { encode_shard(plan, 0, {.threads = 1}, {}); }); };
  std::filesystem::last_write_time(input, time + std::chrono::seconds(1));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("x.jsonl"), HasSubstr("time of modification")));
  folder.write("x.jsonl", "{\"text\": \"one\"}\n{\"text\": \"TWO\"}\n");
  std::filesystem::last_write_time(input, time);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("x.jsonl"), HasSubstr("checksum")));
  folder.write("x.jsonl", "{\"text\": \"one\"}\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("x.jsonl"), HasSubstr("expected 32 bytes, found 16")));
  std::filesystem::remove(input);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("x.jsonl"), HasSubstr("No such file")));
  EXPECT_THAT(std::filesystem::exists(record_path(shard_prefix(plan, 0))), false);
}

TEST_F(ShardEncoderTest, ATokenizerThatChangedIsRefused) {
  EncodeOptions options = options_for({golden_input("a.jsonl")});
  options.tokenizer = folder.write("t.model", golden::content(golden::folder() / "models/bpe.model"));
  const Path plan = write_plan(options, 1);
  folder.write("t.model", golden::content(golden::folder() / "models/uni.model"));
  EXPECT_THAT(message_of<DataError>([&] { encode_shard(plan, 0, {.threads = 1}, {}); }), AllOf(HasSubstr("t.model"), HasSubstr("sha256")));
  std::filesystem::remove(folder / "t.model");
  EXPECT_THAT(message_of<DataError>([&] { encode_shard(plan, 0, {.threads = 1}, {}); }), AllOf(HasSubstr("t.model"), HasSubstr("gone")));
}

TEST_F(ShardEncoderTest, APlanHoldsAbsolutePathsAndTheNamesAsSpelled) {
  folder.write("x.jsonl", "{\"text\": \"one\"}\n");
  const Path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const ShardPlan plan = make_plan(options_for({"x.jsonl"}), 1);
  std::filesystem::current_path(before);
  EXPECT_EQ(plan.inputs[0].name, "x.jsonl");
  EXPECT_EQ(plan.inputs[0].path, (folder / "x.jsonl").string());
}

TEST_F(ShardEncoderTest, WhatCannotBeReadAgainIsNoInputOfAPlan) {
  EXPECT_THAT(message_of<ConfigError>([&] { make_plan(options_for({"-"}), 1); }), HasSubstr("standard input"));
  EXPECT_THAT(message_of<ConfigError>([&] { make_plan(options_for({"/dev/null"}), 1); }), HasSubstr("/dev/null"));
}

}  // namespace
}  // namespace convoy::data
