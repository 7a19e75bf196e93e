// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/safetensors_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libcore/base/error.h"

namespace convoy::checkpoint {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& header) {
  try {
    parse_safetensors_header(header, "m.safetensors");
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

std::string entry(const std::string& fields) { return "{\"a\":{" + fields + "}}"; }

TEST(SafetensorsHeader, ReadsEntriesAndSkipsMetadata) {
  const auto entries = parse_safetensors_header(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"data_offsets":[24,28],"shape":[],"dtype":"F32"}})",
      "x");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[0].dtype, "F32");
  EXPECT_THAT(entries[0].shape, testing::ElementsAre(2, 3));
  EXPECT_EQ(entries[1].begin, 24u);
  EXPECT_EQ(entries[1].end, 28u);
  EXPECT_TRUE(entries[1].shape.empty());
}

TEST(SafetensorsHeader, AnEmptyObjectHoldsNothing) { EXPECT_TRUE(parse_safetensors_header("{}   ", "x").empty()); }

TEST(SafetensorsHeader, EachFaultHasItsOwnMessage) {
  const std::string good = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";
  EXPECT_EQ(refusal(entry(good)), "accepted");
  EXPECT_THAT(refusal("{\"a\":{" + good + "},\"a\":{" + good + "}}"), HasSubstr("\"a\" occurs twice"));
  EXPECT_THAT(refusal(entry(good + ",\"dtype\":\"F16\"")), HasSubstr("dtype occurs twice"));
  EXPECT_THAT(refusal(entry(good + ",\"color\":1")), HasSubstr("unknown field \"color\""));
  EXPECT_THAT(refusal(entry(R"("dtype":"F32","shape":[1])")), HasSubstr("lacks"));
  EXPECT_THAT(refusal(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0])")), HasSubstr("data_offsets has 1"));
  EXPECT_THAT(refusal(entry(R"("dtype":"F32","shape":[1],"data_offsets":[-16,4])")),
              testing::AllOf(HasSubstr("-16"), HasSubstr("tensor a")));
  EXPECT_THAT(refusal(entry(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,4])")), HasSubstr("1.5"));
  EXPECT_THAT(refusal(entry(R"("dtype":7,"shape":[1],"data_offsets":[0,4])")), HasSubstr("7"));
  EXPECT_THAT(refusal(entry(R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])")), HasSubstr("a list"));
  EXPECT_THAT(refusal(entry(R"("dtype":"F32","shape":{},"data_offsets":[0,4])")), HasSubstr("an object"));
  EXPECT_THAT(refusal(R"({"a":null})"), HasSubstr("null"));
  EXPECT_THAT(refusal(R"({"a":"F32"})"), HasSubstr("F32"));
  EXPECT_THAT(refusal(R"({"a":[1]})"), HasSubstr("a list"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"format":7}})"), HasSubstr("7"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":"1","a":"2"}})"), HasSubstr("occurs twice"));
  EXPECT_THAT(refusal(R"({"a")"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("{} x"), HasSubstr("not JSON"));
}

}  // namespace
}  // namespace convoy::checkpoint
