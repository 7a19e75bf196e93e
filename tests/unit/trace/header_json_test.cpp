// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "libcore/base/error.h"
#include "libcore/trace/format.h"
#include "tests/unit/trace/trace_files.h"

namespace convoy::trace {
namespace {

std::string problem_with(const std::string& json) {
  try {
    header_of(json, "a.trace");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(TraceHeader, ReadsBackAsItWas) {
  Header header = some_header();
  header.attempt = 7;
  header.micro_batches = 32;
  header.virtual_stages = 3;
  header.threads = 3;
  header.tokens_per_step = 1 << 20;
  header.flops_per_token = 7.5e9;
  header.flops_convention = "6 N + 12 L C T";
  header.job_id = "4711";
  header.process_id = 99;
  header.started_unix_ns = 1'800'000'000'123'456'789;
  header.started_monotonic_ns = 5'000'000'001;
  const Header read = header_of(to_json(header), "a.trace");
  EXPECT_EQ(read.run, header.run);
  EXPECT_EQ(read.attempt, 7);
  EXPECT_EQ(read.world, 4);
  EXPECT_EQ(read.rank, 1);
  EXPECT_EQ(read.at, header.at);
  EXPECT_EQ(read.tensor, 2);
  EXPECT_EQ(read.pipeline, 1);
  EXPECT_EQ(read.data, 2);
  EXPECT_EQ(read.micro_batches, 32);
  EXPECT_EQ(read.virtual_stages, 3);
  EXPECT_EQ(read.threads, 3);
  EXPECT_EQ(read.tokens_per_step, 1 << 20);
  EXPECT_EQ(read.flops_per_token, 7.5e9);
  EXPECT_EQ(read.flops_convention, header.flops_convention);
  EXPECT_EQ(read.host, "node-17");
  EXPECT_EQ(read.job_id, "4711");
  EXPECT_EQ(read.process_id, 99);
  EXPECT_EQ(read.started_unix_ns, header.started_unix_ns);
  EXPECT_EQ(read.started_monotonic_ns, header.started_monotonic_ns);
  ASSERT_EQ(read.groups.size(), 3u);
  EXPECT_EQ(read.groups[2].kind, GroupKind::kData);
  EXPECT_EQ(read.groups[0].members, header.groups[0].members);
  EXPECT_EQ(read.groups[2].members, header.groups[2].members);
}

TEST(TraceHeader, OfAStageWithOneChunkNeedNotSayIt) {
  auto json = nlohmann::json::parse(to_json(some_header()));
  EXPECT_FALSE(json.contains("virtual_stages"));
  EXPECT_EQ(header_of(json.dump(), "a.trace").virtual_stages, 1);
  json["virtual_stages"] = 0;
  EXPECT_THROW(header_of(json.dump(), "a.trace"), DataError);
}

TEST(TraceHeader, KeepsHostNamesOfAnyBytesAsText) {
  Header header = some_header();
  header.host = "n\u0153ud \"7\"\n<script>\xff\xfe\\";
  header.run = std::string("a\0b", 3);
  const std::string json = to_json(header);
  EXPECT_EQ(header_of(json, "a.trace").host, "n\u0153ud \"7\"\n<script>\uFFFD\uFFFD\\");
  EXPECT_EQ(header_of(json, "a.trace").run, header.run);
}

TEST(TraceHeader, FitsIntoItsBlockWhateverTheWorldAndTheTexts) {
  Header header;
  header.world = header.data = 1 << 20;
  header.host = header.run = header.job_id = header.flops_convention = std::string(1 << 20, '\x01');
  std::vector<int> members(1 << 20);
  std::iota(members.begin(), members.end(), 0);
  header.groups = {{GroupKind::kWorld, members}};
  header.host = std::string(4095, 'a') + "\u0153";  // the character on the edge is not cut in two
  const std::string json = to_json(header);
  EXPECT_LE(json.size(), kBlockPayload + 0u + 4 * 4096 * 6);
  const Header read = header_of(json, "a.trace");
  EXPECT_EQ(read.groups[0].members, members);
  EXPECT_EQ(read.host, std::string(4095, 'a'));
}

TEST(TraceHeader, NamesTheFieldThatIsWrong) {
  struct Case {
    const char* field;
    const char* value;
  };
  const std::vector<Case> cases = {{"format", "\"gpt\""},
                                   {"version", "2"},
                                   {"version", "0"},
                                   {"run", "7"},
                                   {"attempt", "0"},
                                   {"attempt", "-1"},
                                   {"attempt", "1.5"},
                                   {"world", "0"},
                                   {"world", "5"},
                                   {"world", "99999999999999999999"},
                                   {"world", "1e300"},
                                   {"rank", "4"},
                                   {"rank", "-1"},
                                   {"tensor", "0"},
                                   {"pipeline", "3"},
                                   {"data", "null"},
                                   {"tensor_rank", "2"},
                                   {"pipeline_rank", "1"},
                                   {"data_rank", "\"0\""},
                                   {"micro_batches", "0"},
                                   {"threads", "0"},
                                   {"tokens_per_step", "-1"},
                                   {"tokens_per_step", "18446744073709551615"},
                                   {"flops_per_token", "-1"},
                                   {"flops_per_token", "null"},
                                   {"flops_per_token", "1e300"},
                                   {"flops_convention", "[]"},
                                   {"host", "null"},
                                   {"job_id", "1"},
                                   {"process_id", "-5"},
                                   {"started_unix_ns", "-5"},
                                   {"started_monotonic_ns", "18446744073709551615"},
                                   {"groups", "{}"},
                                   {"groups", "[[]]"},
                                   {"groups", R"([{"kind":"expert","members":[1]}])"},
                                   {"groups", R"([{"kind":"data","members":[]}])"},
                                   {"groups", R"([{"kind":"data","members":[1,4]}])"},
                                   {"groups", R"([{"kind":"data","members":[1,-1]}])"},
                                   {"groups", R"([{"kind":"data","members":[1,1]}])"},
                                   {"groups", R"([{"kind":"data","members":[0,2]}])"},
                                   {"groups", R"([{"kind":"data","members":[1]},{"kind":"data","members":[1]}])"},
                                   {"groups", R"([{"kind":"data","members":{"first":1,"stride":1,"count":4}}])"},
                                   {"groups", R"([{"kind":"data","members":{"first":1,"stride":0,"count":2}}])"},
                                   {"groups", R"([{"kind":"data"}])"}};
  const auto good = nlohmann::json::parse(to_json(some_header()));
  EXPECT_EQ(problem_with(good.dump()), "");
  for (const Case& wrong : cases) {
    auto changed = good;
    changed[wrong.field] = nlohmann::json::parse(wrong.value);
    const std::string problem = problem_with(changed.dump());
    EXPECT_THAT(problem, testing::HasSubstr("a.trace")) << wrong.field << " " << wrong.value;
    EXPECT_THAT(problem, testing::HasSubstr(wrong.field)) << wrong.value;
  }
  for (const auto& [field, value] : good.items()) {
    auto lacking = good;
    lacking.erase(field);
    EXPECT_THAT(problem_with(lacking.dump()), testing::HasSubstr(field));
  }
}

TEST(TraceHeader, PassesOverKeysThatItDoesNotKnow) {
  auto json = nlohmann::json::parse(to_json(some_header()));
  json["colour"] = "red";
  EXPECT_EQ(problem_with(json.dump()), "");
}

TEST(TraceHeader, RefusesTextThatIsNoObject) {
  for (const char* text : {"", "[]", "7", "{", "null", "{\"format\":\"convoy-trace\"", "\xff\xff"})
    EXPECT_NE(problem_with(text), "") << text;
  EXPECT_THAT(problem_with("{\"run\":" + std::string(60'000, '[')), testing::HasSubstr("nested"));
}

TEST(TraceHeader, OfNumbersThatAreNoneIsRefused) {
  Header header = some_header();
  header.flops_per_token = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(problem_with(to_json(header)), testing::HasSubstr("flops_per_token"));
}

}  // namespace
}  // namespace convoy::trace
