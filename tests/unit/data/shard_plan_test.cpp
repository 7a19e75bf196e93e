// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/shard_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "golden.h"
#include "libcore/base/checksum.h"
#include "libcore/base/error.h"

namespace convoy::data {
namespace {

using golden::message_of;
using testing::ElementsAre;
using testing::HasSubstr;

// A record begins at every multiple of `step`.
NextRecord every(std::int64_t step) {
  return [step](std::size_t, std::int64_t offset) { return (offset + step - 1) / step * step; };
}

ShardPiece piece(std::int64_t input, std::int64_t begin, std::int64_t end) { return {input, {begin, end}}; }

TEST(CutShards, ADivisibleInputIsCutAtTheNextRecord) {
  // Thirds of 100 bytes end at 33 and 66.
  EXPECT_THAT(cut_shards({{100, true}}, 3, every(10)),
              ElementsAre(Shard{piece(0, 0, 40)}, Shard{piece(0, 40, 70)}, Shard{piece(0, 70, 100)}));
}

TEST(CutShards, AnIndivisibleInputIsWhole) {
  EXPECT_THAT(cut_shards({{100, false}, {100, false}}, 2, {}), ElementsAre(Shard{piece(0, 0, 100)}, Shard{piece(1, 0, 100)}));
  // 22 bytes in quarters: 5, 11 and 16. 5 lies in the middle of an input, which goes to the shard before it; 16 is nearer to 12.
  EXPECT_THAT(cut_shards({{10, false}, {1, false}, {1, false}, {10, false}}, 4, {}),
              ElementsAre(Shard{piece(0, 0, 10)}, Shard{piece(1, 0, 1)}, Shard{piece(2, 0, 1)}, Shard{piece(3, 0, 10)}));
}

TEST(CutShards, MixedInputsKeepTheirOrderAndAnEmptyOneHasItsPlace) {
  EXPECT_THAT(cut_shards({{50, false}, {100, true}, {0, true}, {50, false}}, 4, every(10)),
              ElementsAre(Shard{piece(0, 0, 50)}, Shard{piece(1, 0, 50)}, Shard{piece(1, 50, 100)}, Shard{piece(2, 0, 0), piece(3, 0, 50)}));
  EXPECT_THAT(cut_shards({{0, true}}, 2, every(1)), ElementsAre(Shard{}, Shard{piece(0, 0, 0)}));
}

TEST(CutShards, MoreShardsThanPiecesLeaveSomeEmpty) {
  EXPECT_THAT(cut_shards({{100, false}}, 3, {}), ElementsAre(Shard{}, Shard{piece(0, 0, 100)}, Shard{}));
  const std::vector<Shard> many = cut_shards({{3, true}}, 1500, every(1));
  EXPECT_EQ(many.size(), 1500u);
  EXPECT_EQ(std::count_if(many.begin(), many.end(), [](const Shard& shard) { return !shard.empty(); }), 3);
}

TEST(CutShards, ARecordLongerThanManyShardsIsLookedThroughOnce) {
  int calls = 0;
  const auto to_the_end = [&calls](std::size_t, std::int64_t) {
    ++calls;
    return std::int64_t{1'000'000};
  };
  const std::vector<Shard> shards = cut_shards({{1'000'000, true}}, 1000, to_the_end);
  EXPECT_THAT(shards[0], ElementsAre(piece(0, 0, 1'000'000)));
  EXPECT_EQ(calls, 1);
}

TEST(CutShards, ExabytesAreNoProblem) {
  const std::int64_t large = std::int64_t{1} << 61;
  const std::vector<Shard> shards = cut_shards({{large, true}, {large, true}}, 1000, every(1));
  std::vector<PlannedInput> inputs(2);
  inputs[0].bytes = inputs[1].bytes = large;
  EXPECT_NO_THROW(check_shards(inputs, shards, "plan"));
  for (const Shard& shard : shards) {
    std::int64_t bytes = 0;
    for (const ShardPiece& part : shard) bytes += part.range.size();
    EXPECT_NEAR(static_cast<double>(bytes), static_cast<double>(2 * (large / 1000)), 2000.0);
  }
}

// The place to cut `text` at or after `offset`, read in blocks of `block` bytes.
std::int64_t cut_at(DocumentSeparator separator, const std::string& text, std::size_t offset, std::size_t block) {
  RecordSearch search(separator);
  for (std::size_t at = offset - 1; at < text.size(); at += block) {
    if (const auto found = search.find(std::string_view(text).substr(at, block))) return static_cast<std::int64_t>(at + *found);
  }
  return static_cast<std::int64_t>(text.size());
}

TEST(RecordSearch, FindsTheNextLineOrTheEnd) {
  const std::string text = "ab\nc\n\nd";
  // Where a line begins at or after each offset, by hand.
  const std::vector<std::int64_t> expected{3, 3, 3, 5, 5, 6};
  for (const std::size_t block : {1u, 2u, 100u}) {
    for (std::size_t offset = 1; offset < text.size(); ++offset) {
      EXPECT_EQ(cut_at(DocumentSeparator::kLine, text, offset, block), expected[offset - 1]) << offset << ", blocks of " << block;
    }
  }
}

TEST(RecordSearch, FindsThePlaceBehindABlankLine) {
  //                        0123 4567 8 9
  const std::string text = "a\nb\n \t\nc\nd\n\n\ne\n";
  // A blank line ends at 7 and others at 12 and 13; a line begins at 0, 2, 4, 7, 9, 11, 12, 13.
  const std::vector<std::int64_t> expected{7, 7, 7, 7, 12, 12, 12, 12, 12, 12, 12, 13, 15, 15};
  ASSERT_EQ(text.size(), 15u);
  for (const std::size_t block : {1u, 2u, 3u, 100u}) {
    for (std::size_t offset = 1; offset < text.size(); ++offset) {
      EXPECT_EQ(cut_at(DocumentSeparator::kBlankLine, text, offset, block), expected[offset - 1]) << offset << ", blocks of " << block;
    }
  }
}

ShardPlan example() {
  ShardPlan plan;
  plan.options.keys = {"text", "meta.body"};
  plan.options.tokenizer = "t.model";
  plan.options.read.separator = DocumentSeparator::kBlankLine;
  plan.options.on_error = OnError::kQuarantine;
  plan.options.max_errors = 7;
  plan.options.splits = parse_splits("train=0.9,valid=0.1");
  plan.options.append_eos = true;
  plan.options.dedup = Dedup::kDrop;
  plan.options.dedup_memory = 5 << 20;
  plan.threads = 3;
  plan.verify_every = 0;
  plan.tokenizer_path = "/data/t.model";
  plan.tokenizer_sha256 = "abc";
  plan.inputs = {{"a b\".txt", "/data/a b\".txt", 10, -5, "00"}, {"c", "/data/c", 0, 6, "11"}, {"d", "/data/d", 7, 8, "22"}};
  plan.shards = {{piece(0, 0, 4)}, {}, {piece(0, 4, 10), piece(1, 0, 0), piece(2, 0, 7)}};
  plan.id = plan_id(plan);
  return plan;
}

TEST(Plan, ReadsBackWhatItWrites) {
  const ShardPlan plan = example(), read = parse_plan(plan_text(plan), "plan.json");
  EXPECT_EQ(read.id, plan.id);
  EXPECT_EQ(read.threads, plan.threads);
  EXPECT_EQ(read.verify_every, 0);
  EXPECT_EQ(read.inputs, plan.inputs);
  EXPECT_EQ(read.shards, plan.shards);
  EXPECT_EQ(read.tokenizer_path, plan.tokenizer_path);
  EXPECT_EQ(read.tokenizer_sha256, plan.tokenizer_sha256);
  EXPECT_EQ(read.options.tokenizer, plan.options.tokenizer);
  EXPECT_EQ(read.options.splits, plan.options.splits);
  EXPECT_EQ(read.options.max_errors, plan.options.max_errors);
  EXPECT_EQ(options_json(read.options), options_json(plan.options));
  EXPECT_EQ(plan_text(read), plan_text(plan));
  EXPECT_EQ(read.options.dedup, Dedup::kDrop);
  EXPECT_EQ(read.options.dedup_memory, 5 << 20);
  const std::string text = plan_text(plan);
  EXPECT_EQ(plan.id, xxh3_128_hex(text.substr(text.find("\"tokenizer\"")))) << "as docs/formats.md says";
}

TEST(Plan, ItsIdDependsOnAllThatDecidesTheShards) {
  const std::string id = example().id;
  const std::vector<std::function<void(ShardPlan&)>> changes = {
      [](ShardPlan& p) { p.options.append_eos = false; },   [](ShardPlan& p) { p.options.keys = {"text"}; },
      [](ShardPlan& p) { p.inputs[0].modified_ns = 1; },    [](ShardPlan& p) { p.shards = {p.shards[0], p.shards[2], {}}; },
      [](ShardPlan& p) { p.tokenizer_sha256 = "other"; },   [](ShardPlan& p) { p.options.splits = parse_splits("train=0.8,valid=0.2"); },
      [](ShardPlan& p) { p.inputs[2].ends_xxh3_128 = "x"; }, [](ShardPlan& p) { p.options.max_errors = 8; },
      [](ShardPlan& p) { p.options.dedup = Dedup::kReport; }, [](ShardPlan& p) { p.options.split_special_tokens = true; }};
  for (const auto& change : changes) {
    ShardPlan plan = example();
    change(plan);
    EXPECT_NE(plan_id(plan), id);
  }
  ShardPlan plan = example();
  plan.threads = 9;
  plan.verify_every = 7;
  plan.options.dedup_memory = 5;
  EXPECT_EQ(plan_id(plan), id);
}

TEST(Plan, CutShortAnywhereIsRefused) {
  const std::string text = plan_text(example());
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {  // the last two bytes are the brace and a newline
    EXPECT_THAT(message_of<DataError>([&] { parse_plan(text.substr(0, size), "plan.json"); }), HasSubstr("plan.json")) << size;
  }
}

// A program that knows version 1 alone would leave the duplicates in, and say nothing.
TEST(Plan, OfDuplicatesHasAVersionThatOlderReadersRefuse) {
  ShardPlan plan = example();
  EXPECT_THAT(plan_text(plan), HasSubstr("\"format_version\": 2"));
  plan.options.dedup = Dedup::kOff;
  EXPECT_THAT(plan_text(plan), HasSubstr("\"format_version\": 1"));
}

TEST(Plan, OfSplitSpecialTokensHasAVersionThatOlderReadersRefuse) {
  ShardPlan plan = example();
  plan.options.split_special_tokens = true;
  plan.id = plan_id(plan);
  EXPECT_THAT(plan_text(plan), HasSubstr("\"format_version\": 3"));
  EXPECT_TRUE(parse_plan(plan_text(plan), "plan.json").options.split_special_tokens);
  EXPECT_FALSE(parse_plan(plan_text(example()), "plan.json").options.split_special_tokens);
}

TEST(Plan, AWrongFieldIsNamed) {
  struct Case {
    const char *from, *to, *names;
  };
  for (const Case& one : {Case{"convoy-shard-plan", "other", "format"}, Case{"\"format_version\": 2", "\"format_version\": 4", "format_version"},
                          Case{"\"threads\": 3", "\"threads\": 0", "threads"}, Case{"\"threads\": 3", "\"threads\": -1", "threads"},
                          Case{"\"sha256\"", "\"sha\"", "sha256"}, Case{"\"/data/t.model\"", "\"t.model\"", "absolute"},
                          Case{"\"/data/c\"", "\"../c\"", "absolute"}, Case{"\"/data/c\"", "\"/data/c\\u0000d\"", "absolute"},
                          Case{"\"name\":\"c\"", "\"name\":\"-\"", "name"}, Case{"\"bytes\":7", "\"bytes\":-7", "bytes"},
                          Case{"\"bytes\":7", "\"bytes\":7.5", "bytes"}, Case{"\"bytes\":7", "\"bytes\":1e999", "plan.json"},
                          Case{"\"format\":\"auto\"", "\"format\":\"xml\"", "xml"}, Case{"\"key\":[\"text\"", "\"key\":[5", "key"},
                          Case{"blank-line", "comma", "comma"}, Case{"quarantine", "ignore", "ignore"}, Case{"\"dtype\":\"auto\"", "\"dtype\":\"u8\"", "u8"},
                          Case{"train=0.9", "../train=0.9", "split"}, Case{"\"append_eos\":true", "\"append_eos\":1", "append_eos"},
                          Case{"\"max_errors\":7", "\"max_errors\":\"7\"", "max_errors"}, Case{"[[0,0,4]]", "[[0,0]]", "[input, begin, end]"},
                          Case{"[[0,0,4]]", "[0,0,4]", "[input, begin, end]"}, Case{"[[0,0,4]]", "{}", "[input, begin, end]"},
                          Case{"[[0,0,4]]", "[[0,0,4.0]]", "[input, begin, end]"}, Case{"\"id\": \"", "\"id\": \"0", "id"},
                          Case{"\"append_eos\":true", "\"append_eos\":false", "changed or damaged"}}) {
    std::string text = plan_text(example());
    const std::size_t at = text.find(one.from);
    ASSERT_NE(at, std::string::npos) << one.from;
    text.replace(at, std::string(one.from).size(), one.to);
    EXPECT_THAT(message_of<DataError>([&] { parse_plan(text, "plan.json"); }), testing::AllOf(HasSubstr("plan.json"), HasSubstr(one.names)))
        << one.from << " as " << one.to;
  }
}

TEST(Plan, RefusesRangesThatAreNotEveryByteOnce) {
  struct Case {
    const char *what;
    std::vector<Shard> shards;
  };
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::vector<Case> cases = {{"negative", {{piece(0, -4, 10), piece(1, 0, 0), piece(2, 0, 7)}}},
                                   {"negative input", {{piece(-1, 0, 10), piece(1, 0, 0), piece(2, 0, 7)}}},
                                   {"beyond the file", {{piece(0, 0, 11), piece(1, 0, 0), piece(2, 0, 7)}}},
                                   {"far beyond", {{piece(0, 0, most), piece(1, 0, 0), piece(2, 0, 7)}}},
                                   {"an input too many", {{piece(0, 0, 10), piece(1, 0, 0), piece(2, 0, 7), piece(3, 0, 1)}}},
                                   {"overlap", {{piece(0, 0, 6)}, {piece(0, 5, 10), piece(1, 0, 0), piece(2, 0, 7)}}},
                                   {"gap", {{piece(0, 0, 5)}, {piece(0, 6, 10), piece(1, 0, 0), piece(2, 0, 7)}}},
                                   {"twice", {{piece(0, 0, 10)}, {piece(0, 0, 10), piece(1, 0, 0), piece(2, 0, 7)}}},
                                   {"an empty one twice", {{piece(0, 0, 10), piece(1, 0, 0), piece(1, 0, 0), piece(2, 0, 7)}}},
                                   {"nothing of an input", {{piece(0, 0, 10), piece(2, 0, 7)}}},
                                   {"an empty range", {{piece(0, 0, 0), piece(0, 0, 10), piece(1, 0, 0), piece(2, 0, 7)}}},
                                   {"backwards", {{piece(0, 0, 10), piece(1, 0, 0), piece(2, 0, 7), piece(2, 7, 3)}}},
                                   {"order", {{piece(2, 0, 7)}, {piece(0, 0, 10), piece(1, 0, 0)}}},
                                   {"no end", {{piece(0, 0, 10), piece(1, 0, 0), piece(2, 0, 6)}}},
                                   {"no last input", {{piece(0, 0, 10), piece(1, 0, 0)}}},
                                   {"nothing at all", {{}, {}}},
                                   {"no shards", {}}};
  for (const Case& one : cases) {
    ShardPlan plan = example();
    plan.shards = one.shards;
    plan.id = plan_id(plan);
    EXPECT_THAT(message_of<DataError>([&] { parse_plan(plan_text(plan), "plan.json"); }), HasSubstr("plan.json")) << one.what;
  }
}

TEST(ArraySpec, IsWhatSlurmTakes) {
  EXPECT_EQ(array_spec(std::vector<std::int64_t>{}), "");
  EXPECT_EQ(array_spec({0}), "0");
  EXPECT_EQ(array_spec({3, 17, 40, 41, 42}), "3,17,40-42");
  EXPECT_EQ(array_spec({0, 1, 5}), "0-1,5");
}

}  // namespace
}  // namespace convoy::data
