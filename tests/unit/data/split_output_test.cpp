// SPDX-License-Identifier: Apache-2.0
// --dedup from text to pair, in one run and in shards.
#include "libcore/data/split_output.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "file_size_limit.h"
#include "golden_json.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/data/encoder.h"
#include "libcore/data/plan_inputs.h"
#include "libcore/data/shard_encoder.h"
#include "libcore/data/shard_files.h"
#include "libcore/data/shard_merge.h"

namespace convoy::data {
namespace {

using golden::message_of;
using golden::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string line_of(const std::string& text) { return "{\"text\": \"" + text + "\"}\n"; }

class DedupTest : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kOff); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  EncodeOptions options_for(const std::string& input, Dedup dedup, const std::string& out) const {
    return {.inputs = {(folder / input).string()},
            .keys = {"text"},
            .tokenizer = golden::folder() / "models/bpe.model",
            .out = folder / out,
            .append_eos = true,
            .dedup = dedup,
            .dedup_memory = std::int64_t{1} << 20};
  }
  void expect_same_tokens(const std::string& a, const std::string& b) const {
    EXPECT_EQ(golden::content(bin_path(folder / a)), golden::content(bin_path(folder / b)));
    EXPECT_EQ(golden::content(idx_path(folder / a)), golden::content(idx_path(folder / b)));
  }
  // The metadata without what two runs cannot have in common.
  nlohmann::json meta_of(const std::string& prefix) const {
    nlohmann::json meta = golden::json(meta_path(folder / prefix));
    for (const char* key : {"outputs", "seconds", "mb_per_s"}) meta.erase(key);
    return meta;
  }
  EncodeReport by_shards(const EncodeOptions& options, std::int64_t shards) const {
    const Path plan = folder.write("shards/plan.json", plan_text(make_plan(options, shards)));
    for (std::int64_t shard = 0; shard < shards; ++shard) encode_shard(plan, shard, {.threads = 1}, {});
    return merge_shards(plan, folder / "merged", {});
  }
  TemporaryFolder folder;
};

// 600 lines of 80 texts, in x.jsonl; each text once, where it is first, in once.jsonl.
void write_repeating(const TemporaryFolder& folder) {
  std::mt19937 random(3);
  std::string all, once;
  std::vector<bool> seen(80);
  for (int i = 0; i < 600; ++i) {
    const std::size_t number = random() % seen.size();
    const std::string line = line_of(fmt::format("ship {} of the convoy, {}", number, std::string(number, 'x')));
    all += line;
    if (!seen[number]) once += line;
    seen[number] = true;
  }
  folder.write("x.jsonl", all);
  folder.write("once.jsonl", once);
}

TEST_F(DedupTest, DropWritesThePairOfTheFirstOfEachText) {
  write_repeating(folder);
  const EncodeReport dropped = encode(options_for("x.jsonl", Dedup::kDrop, "x"), {});
  const EncodeReport once = encode(options_for("once.jsonl", Dedup::kOff, "once"), {});
  expect_same_tokens("x", "once");
  EXPECT_EQ(once.documents, 80);
  EXPECT_EQ(dropped.documents, 80);
  EXPECT_EQ(dropped.duplicates, 520);
  EXPECT_EQ(dropped.tokens, once.tokens);
  EXPECT_EQ(dropped.bytes_text, once.bytes_text);
  const nlohmann::json meta = meta_of("x"), expected = meta_of("once");
  for (const char* key : {"documents", "tokens", "bytes_text", "text_bytes", "max_id_seen", "bin_xxh3_128", "idx_xxh3_128"})
    EXPECT_EQ(meta[key], expected[key]) << key;
  EXPECT_EQ(meta["duplicates"], 520);
  EXPECT_EQ(meta["options"]["dedup"], "drop");
  EXPECT_FALSE(expected["options"].contains("dedup"));
  EXPECT_THAT(folder.names(), ElementsAre("once.bin", "once.idx", "once.jsonl", "once.meta.json", "x.bin", "x.idx", "x.jsonl", "x.meta.json"));
}

TEST_F(DedupTest, ReportCountsAndKeeps) {
  write_repeating(folder);
  const EncodeReport report = encode(options_for("x.jsonl", Dedup::kReport, "x"), {});
  encode(options_for("x.jsonl", Dedup::kOff, "plain"), {});
  expect_same_tokens("x", "plain");
  EXPECT_EQ(report.documents, 600);
  EXPECT_EQ(report.duplicates, 520);
  EXPECT_EQ(meta_of("x")["duplicates"], 520);
  EXPECT_EQ(meta_of("plain")["duplicates"], 0);
}

TEST_F(DedupTest, WhatDiffersInAByteOfTheTextIsNoDuplicate) {
  // The same text by another spelling of JSON is one, a blank more is none; documents without tokens are not compared.
  folder.write("x.jsonl", line_of("a b") + line_of("a  b") + line_of("\\u0061 b") + line_of("") + line_of("") + line_of("a b "));
  EncodeOptions options = options_for("x.jsonl", Dedup::kDrop, "x");
  options.dtype = "i32";
  const EncodeReport report = encode(options, {});
  EXPECT_EQ(report.documents, 3);
  EXPECT_EQ(report.duplicates, 1);
  EXPECT_EQ(report.empty, 2);
}

TEST_F(DedupTest, ShardsMergedAreOneRun) {
  write_repeating(folder);
  for (const Dedup dedup : {Dedup::kReport, Dedup::kDrop}) {
    for (const std::int64_t shards : {1, 4, 13}) {
      SCOPED_TRACE(fmt::format("{}, {} shards", name_of(dedup), shards));
      const EncodeReport whole = encode(options_for("x.jsonl", dedup, "whole"), {});
      const EncodeReport merged = by_shards(options_for("x.jsonl", dedup, "x"), shards);
      expect_same_tokens("merged", "whole");
      EXPECT_EQ(meta_of("merged"), meta_of("whole"));
      EXPECT_EQ(merged.documents, whole.documents);
      EXPECT_EQ(merged.duplicates, 520);
    }
  }
}

TEST_F(DedupTest, EverySplitIsComparedByItself) {
  write_repeating(folder);
  EncodeOptions options = options_for("x.jsonl", Dedup::kDrop, "whole");
  options.splits = parse_splits("a=0.6,b=0.4");
  encode(options, {});
  EncodeOptions once = options_for("once.jsonl", Dedup::kOff, "once");
  once.splits = options.splits;
  encode(once, {});
  const EncodeReport merged = by_shards(options, 5);
  EXPECT_EQ(merged.documents, 80);
  EXPECT_EQ(merged.duplicates, 520);
  for (const char* name : {".a", ".b"}) {
    expect_same_tokens(std::string("whole") + name, std::string("once") + name);
    expect_same_tokens(std::string("merged") + name, std::string("whole") + name);
    EXPECT_EQ(meta_of(std::string("merged") + name), meta_of(std::string("whole") + name));
    EXPECT_EQ(meta_of(std::string("whole") + name)["text_bytes"], meta_of(std::string("once") + name)["text_bytes"]);
  }
}

TEST_F(DedupTest, AShardWithoutItsHashesIsMissing) {
  write_repeating(folder);
  const EncodeOptions options = options_for("x.jsonl", Dedup::kDrop, "x");
  const Path plan_file = folder.write("shards/plan.json", plan_text(make_plan(options, 2)));
  const ShardPlan plan = read_plan(plan_file);
  for (int shard = 0; shard < 2; ++shard) encode_shard(plan_file, shard, {.threads = 1}, {});
  EXPECT_TRUE(look_at_shard(plan, plan_file, 1).complete());
  const Path hashes = folder / "shards/shard-00001.hashes";
  const std::string good = golden::content(hashes);
  std::filesystem::resize_file(hashes, good.size() - 24);
  EXPECT_THAT(look_at_shard(plan, plan_file, 1).flaw, HasSubstr("shard-00001.hashes"));
  std::filesystem::remove(hashes);
  EXPECT_THAT(look_at_shard(plan, plan_file, 1).flaw, HasSubstr("shard-00001.hashes"));
  EXPECT_FALSE(encode_shard(plan_file, 1, {.threads = 1}, {}).was_complete);
  EXPECT_EQ(golden::content(hashes), good);
  std::string flipped = good;
  flipped[5] ^= 1;
  folder.write("shards/shard-00001.hashes", flipped);
  EXPECT_THAT(message_of<DataError>([&] { merge_shards(plan_file, folder / "merged", {}); }), HasSubstr("shard-00001.hashes"));
  EXPECT_FALSE(std::filesystem::exists(folder / "merged.bin"));
}

TEST_F(DedupTest, AnotherPlanLeavesNoHashesOfTheOldOne) {
  write_repeating(folder);
  const auto encode_first = [&](Dedup dedup) {
    const Path plan = folder.write("shards/plan.json", plan_text(make_plan(options_for("x.jsonl", dedup, "x"), 1)));
    encode_shard(plan, 0, {.threads = 1}, {});
  };
  encode_first(Dedup::kReport);
  EXPECT_TRUE(std::filesystem::exists(folder / "shards/shard-00000.hashes"));
  encode_first(Dedup::kOff);
  EXPECT_FALSE(std::filesystem::exists(folder / "shards/shard-00000.hashes"));
}

TEST_F(DedupTest, ShardsMergedAsPlainPairsAreRefused) {
  write_repeating(folder);
  by_shards(options_for("x.jsonl", Dedup::kDrop, "x"), 2);
  EXPECT_THAT(message_of<DataError>([&] { merge_pairs({folder / "shards/shard-00000", folder / "shards/shard-00001"}, folder / "all", {}); }),
              AllOf(HasSubstr("shard-00000"), HasSubstr("--plan")));
  // Whole pairs have no hashes: what is in both stays in both.
  const EncodeReport twice = merge_pairs({folder / "merged", folder / "merged"}, folder / "all", {});
  EXPECT_EQ(twice.documents, 160);
  EXPECT_EQ(twice.duplicates, 1040);
}

TEST_F(DedupTest, AFullDiskLeavesNothing) {
  write_repeating(folder);
  encode(options_for("x.jsonl", Dedup::kReport, "x"), {});
  const auto keys = 600 * sizeof(TextKey);
  ASSERT_LT(keys, std::filesystem::file_size(folder / "x.bin"));
  {
    const golden::FileSizeLimit limit(keys - 1);  // the keys are the first that does not fit
    EXPECT_THAT(message_of<EnvironmentError>([&] { encode(options_for("x.jsonl", Dedup::kDrop, "y"), {}); }), HasSubstr("scratch file"));
  }
  EXPECT_THAT(folder.names(), ElementsAre("once.jsonl", "x.bin", "x.idx", "x.jsonl", "x.meta.json"));
}

}  // namespace
}  // namespace convoy::data
