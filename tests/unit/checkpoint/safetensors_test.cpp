// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "libcore/base/error.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/checkpoint/safetensors_bytes.h"

namespace convoy::checkpoint {
namespace {

using tensor::DType;
using testing::HasSubstr;

std::string refusal(const std::string& bytes) {
  try {
    parse_safetensors(std::as_bytes(std::span(bytes)), "dir/m.safetensors");
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("dir/m.safetensors"));
    return error.what();
  }
  return "accepted";
}

std::string two(const std::string& first, const std::string& second, std::size_t data_bytes) {
  return safetensors_bytes("{\"a\":" + first + ",\"b\":" + second + "}", data_bytes);
}

TEST(Safetensors, AcceptsWhatTilesTheData) {
  const std::string a = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})",
                    b = R"({"dtype":"BF16","shape":[3],"data_offsets":[8,14]})";
  EXPECT_EQ(refusal(two(a, b, 14)), "accepted");
  EXPECT_EQ(refusal(two(a, R"({"dtype":"I64","shape":[0,5],"data_offsets":[8,8]})", 8)), "accepted");
  EXPECT_EQ(refusal(safetensors_bytes("{}", 0)), "accepted");
}

TEST(Safetensors, EachFaultHasItsOwnMessage) {
  const std::string a = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})",
                    b = R"({"dtype":"F32","shape":[2],"data_offsets":[8,16]})";
  EXPECT_THAT(refusal(""), HasSubstr("too short"));
  EXPECT_THAT(refusal(little_endian(~std::uint64_t{0}) + "{}"), HasSubstr("limit"));
  EXPECT_THAT(refusal(little_endian(3) + "{}"),
              testing::AllOf(HasSubstr("truncated"), HasSubstr("3 bytes"), HasSubstr("holds 2")));
  EXPECT_THAT(refusal(safetensors_bytes("[1]", 0)), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(safetensors_bytes("", 0)), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(two(a, b, 15)),
              testing::AllOf(HasSubstr("truncated"), HasSubstr("tensor b"), HasSubstr("16"), HasSubstr("15")));
  EXPECT_THAT(refusal(two(a, b, 48)), HasSubstr("32 bytes after the last tensor, b"));
  EXPECT_THAT(refusal(two(a, R"({"dtype":"F32","shape":[2],"data_offsets":[12,20]})", 20)),
              HasSubstr("hole: 4 bytes at byte 8"));
  EXPECT_THAT(refusal(two(a, R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})", 12)),
              HasSubstr("overlap: b begins at byte 4"));
  EXPECT_THAT(refusal(two(a, R"({"dtype":"F32","shape":[2],"data_offsets":[16,8]})", 16)),
              HasSubstr("end before they begin"));
  EXPECT_THAT(refusal(two(a, R"({"dtype":"BF16","shape":[2],"data_offsets":[8,16]})", 16)),
              testing::AllOf(HasSubstr("takes 4 bytes"), HasSubstr("hold 8")));
  EXPECT_THAT(refusal(two(a, R"({"dtype":"F31","shape":[2],"data_offsets":[8,16]})", 16)),
              HasSubstr("unknown dtype \"F31\""));
  EXPECT_THAT(refusal(two(a, R"({"dtype":"F32","shape":[8589934592,8589934592],"data_offsets":[8,16]})", 16)),
              HasSubstr("overflows"));
}

TEST(Safetensors, WritesTheBytesOfTheReferenceWriter) {
  const support::TmpDir dir;
  const std::array<float, 2> x = {1.0f, -2.0f};
  const std::array<std::uint16_t, 3> y = {1, 2, 3};
  const std::array<double, 1> z = {0.5};
  write_safetensors(dir / "m.safetensors", {{"y", {y.data(), DType::kBF16, {3}}},
                                            {"b", {x.data(), DType::kF32, {2, 1}}},
                                            {"z", {z.data(), DType::kF64, {}}},
                                            {"a", {x.data(), DType::kF32, {2}}}});
  // Wider types first, then by name; the header padded to a multiple of 8.
  std::string header =
      R"({"__metadata__":{"format":"pt"},"z":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},"b":{"dtype":"F32","shape":[2,1],"data_offsets":[16,24]},)"
      R"("y":{"dtype":"BF16","shape":[3],"data_offsets":[24,30]}})";
  while (header.size() % 8 != 0) header += ' ';
  std::string expected = little_endian(header.size()) + header;
  const auto append = [&](const void* data, std::size_t size) {
    expected.append(static_cast<const char*>(data), size);
  };
  append(z.data(), 8);
  append(x.data(), 8);
  append(x.data(), 8);
  append(y.data(), 6);
  EXPECT_EQ(support::content_of(dir / "m.safetensors"), expected);
  EXPECT_THAT(dir.names(), testing::ElementsAre("m.safetensors"));
}

TEST(Safetensors, ReadsBackWhatItWrote) {
  const support::TmpDir dir;
  const std::array<float, 6> x = {0, 1, 2, 3, 4, 5};
  write_safetensors(dir / "m.safetensors", {{"w \"quoted\"", {x.data(), DType::kF32, {2, 3}}}});
  const SafetensorsFile file(dir / "m.safetensors");
  ASSERT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.tensors()[0].name, "w \"quoted\"");
  EXPECT_EQ(file.tensors()[0].view.shape, (tensor::Shape{2, 3}));
  EXPECT_EQ(std::memcmp(file.tensors()[0].view.data, x.data(), sizeof x), 0);
}

TEST(Safetensors, KeepsEntriesThatOurTypesCannotHold) {
  const support::TmpDir dir;
  dir.write("m.safetensors", safetensors_bytes(R"({"mask":{"dtype":"BOOL","shape":[1,1,2,2],"data_offsets":[0,4]},)"
                                               R"("deep":{"dtype":"U8","shape":[1,1,1,1,1],"data_offsets":[4,5]}})",
                                               5));
  const SafetensorsFile file(dir / "m.safetensors");
  EXPECT_EQ(file.entries().size(), 2u);
  EXPECT_TRUE(file.tensors().empty());
}

TEST(Safetensors, AMissingFileIsTheCallersMistake) {
  EXPECT_THROW(SafetensorsFile("/nonexistent/m.safetensors"), ConfigError);
}

}  // namespace
}  // namespace convoy::checkpoint
