// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/hf_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "libcore/base/error.h"
#include "libcore/tensor/tensor.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/checkpoint/safetensors_bytes.h"

namespace convoy::checkpoint {
namespace {

using tensor::DType;
using tensor::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<ExpectedTensor> kOne = {{"w", {2}}};
const std::string kConfig = R"({"bos_token_id": 1, "eos_token_id": null, "vocab_size": 9})";

std::vector<float> read(const HfFolder& folder, const std::string& name, const tensor::Shape& shape) {
  Tensor values(shape, DType::kF32);
  folder.read(name, values.mutable_view());
  return {values.as<float>(), values.as<float>() + shape.count()};
}

std::string refusal(const Path& folder, const std::vector<ExpectedTensor>& expected = kOne, bool tied = false) {
  try {
    const HfFolder opened(folder, expected, tied);
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

std::string entry(const char* name, const char* dtype, const char* shape, int begin, int end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, dtype, shape, begin, end);
}

std::string header_of(const std::vector<std::string>& entries) {
  return fmt::format("{{{}}}", fmt::join(entries, ","));
}

TEST(HfFolder, WidensHalfPrecisionExactly) {
  const support::TmpDir dir;
  // 1.5 and -2 in bf16, 0.5 and 2^-24 in fp16
  const std::string data("\xc0\x3f\x00\xc0\x00\x38\x01\x00", 8);
  const std::string header = header_of({entry("b", "BF16", "[2]", 0, 4), entry("h", "F16", "[2]", 4, 8)});
  dir.write("model.safetensors", little_endian(header.size()) + header + data);
  const HfFolder folder(dir.path(), {{"b", {2}}, {"h", {2}}}, false);
  EXPECT_THAT(read(folder, "b", {2}), ElementsAre(1.5f, -2.0f));
  EXPECT_THAT(read(folder, "h", {2}), ElementsAre(0.5f, 0x1p-24f));
}

TEST(HfFolder, JoinsAndSplitsFusedTensors) {
  const support::TmpDir dir;
  const std::array<float, 4> q = {1, 2, 3, 4}, k = {5, 6, 7, 8}, v = {9, 10, 11, 12};
  std::vector<NamedTensor> tensors;
  std::vector<ExpectedTensor> expected;
  for (const auto& [part, values] : {std::pair{"q", &q}, std::pair{"k", &k}, std::pair{"v", &v}}) {
    tensors.push_back({fmt::format("h.0.attn.{}_attn.weight", part), {values->data(), DType::kF32, {2, 2}}});
    expected.push_back({tensors.back().name, {2, 2}});
  }
  write_hf_folder(dir.path(), tensors, {.config_json = kConfig});
  const SafetensorsFile file(dir / "model.safetensors");
  ASSERT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.tensors()[0].name, "h.0.attn.c_attn.weight");
  const auto* stored = file.tensors()[0].view.as<float>();
  EXPECT_THAT(std::vector<float>(stored, stored + 12), ElementsAre(1, 2, 5, 6, 9, 10, 3, 4, 7, 8, 11, 12));
  const HfFolder folder(dir.path(), expected, false);
  EXPECT_THAT(read(folder, "h.0.attn.k_attn.weight", {2, 2}), ElementsAre(5, 6, 7, 8));
  std::array<float, 2> column{};
  folder.read("h.0.attn.v_attn.weight", {{0, 1}, {2, 1}}, {column.data(), DType::kF32, {2, 1}});
  EXPECT_THAT(column, ElementsAre(10, 12));
}

TEST(HfFolder, ReadsABoxWidenedOrAsItIsStored) {
  const support::TmpDir dir;
  const std::array<std::uint16_t, 6> values = {0x3fc0, 0xc000, 0x3f80, 0x4000, 0x4040, 0x4080};  // 1.5 -2 1 / 2 3 4
  write_safetensors(dir / "model.safetensors", {{"w", {values.data(), DType::kBF16, {2, 3}}}});
  const HfFolder folder(dir.path(), {{"w", {2, 3}}}, false);
  EXPECT_EQ(folder.dtype("w"), DType::kBF16);
  std::array<float, 4> wide{};
  folder.read("w", {{0, 1}, {2, 2}}, {wide.data(), DType::kF32, {2, 2}});
  EXPECT_THAT(wide, ElementsAre(-2.0f, 1.0f, 3.0f, 4.0f));
  std::array<std::uint16_t, 2> bits{};
  folder.read("w", {{1, 0}, {1, 2}}, {bits.data(), DType::kBF16, {1, 2}});
  EXPECT_THAT(bits, ElementsAre(0x4000, 0x4040));
}

TEST(HfFolder, WritesBf16RoundedToNearestEven) {
  const support::TmpDir dir;
  const std::array<float, 2> w = {1.0f + 0x1p-8f, 1.0f + 0x1p-7f + 0x1p-8f};
  write_hf_folder(dir.path(), {{"w", {w.data(), DType::kF32, {2}}}}, {.dtype = DType::kBF16, .config_json = kConfig});
  EXPECT_THAT(read(HfFolder(dir.path(), kOne, false), "w", {2}), ElementsAre(1.0f, 1.0f + 0x1p-6f));
}

TEST(HfFolder, WritesTheFilesThatTransformersReads) {
  const support::TmpDir dir;
  const std::array<float, 2> w = {1, 2};
  write_hf_folder(dir.path(), {{"w", {w.data(), DType::kF32, {2}}}}, {.config_json = kConfig});
  EXPECT_THAT(dir.names(), ElementsAre("config.json", "generation_config.json", "model.safetensors"));
  EXPECT_EQ(support::content_of(dir / "config.json"), kConfig);
  const auto generation = nlohmann::json::parse(support::content_of(dir / "generation_config.json"));
  EXPECT_EQ(generation["bos_token_id"], 1);
  EXPECT_FALSE(generation.contains("eos_token_id"));
}

TEST(HfFolder, ListsAllThatIsWrongWithTheTensors) {
  const support::TmpDir dir;
  const std::string header =
      header_of({entry("w", "F32", "[2,1]", 0, 8), entry("i", "I64", "[1]", 8, 16), entry("x", "F32", "[1]", 16, 20)});
  dir.write("model.safetensors", safetensors_bytes(header, 20));
  const std::string text = refusal(dir.path(), {{"w", {2}}, {"i", {1}}, {"gone", {3}}});
  EXPECT_THAT(text, testing::AllOf(HasSubstr("w in model.safetensors is [2, 1], expected [2]"),
                                   HasSubstr("i in model.safetensors is of dtype I64"), HasSubstr("gone is missing"),
                                   HasSubstr("x in model.safetensors has no place")));
}

TEST(HfFolder, ShortensALongListOfProblems) {
  const support::TmpDir dir;
  dir.write("model.safetensors", safetensors_bytes("{}", 0));
  std::vector<ExpectedTensor> expected;
  for (int i = 0; i < 100; ++i) expected.push_back({fmt::format("w{}", i), {2}});
  EXPECT_THAT(refusal(dir.path(), expected), HasSubstr("and 92 more"));
}

TEST(HfFolder, AnIndexMustNotNameFilesElsewhere) {
  const support::TmpDir dir;
  for (const char* name : {"../model.safetensors", "/etc/passwd", "sub/model.safetensors", "..", ""}) {
    dir.write("model.safetensors.index.json", nlohmann::json{{"weight_map", {{"w", name}}}}.dump());
    EXPECT_THAT(refusal(dir.path()), HasSubstr("without a path")) << name;
  }
}

TEST(HfFolder, AnIndexMustBeWellFormed) {
  const support::TmpDir dir;
  const auto with_index = [&](const std::string& text) {
    dir.write("model.safetensors.index.json", text);
    return refusal(dir.path());
  };
  EXPECT_THAT(with_index("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(with_index("{}"), HasSubstr("weight_map"));
  EXPECT_THAT(with_index(R"({"weight_map": {"w": 3}})"), HasSubstr("expected a file name"));
  EXPECT_THAT(with_index(R"({"weight_map": {"w": "a", "w": "b"}})"), HasSubstr("w occurs twice"));
  EXPECT_THAT(with_index(R"({"weight_map": {"w": "a.safetensors"}})"), HasSubstr("a.safetensors"));
}

TEST(HfFolder, IndexAndFilesMustAgree) {
  const support::TmpDir dir;
  dir.write("a.safetensors", safetensors_bytes(header_of({entry("w", "F32", "[2]", 0, 8)}), 8));
  dir.write("b.safetensors", safetensors_bytes(header_of({entry("x", "F32", "[2]", 0, 8)}), 8));
  const auto with_map = [&](const std::string& map) {
    dir.write("model.safetensors.index.json", fmt::format(R"({{"weight_map": {}}})", map));
    return refusal(dir.path(), {{"w", {2}}, {"x", {2}}});
  };
  EXPECT_EQ(with_map(R"({"w": "a.safetensors", "x": "b.safetensors"})"), "accepted");
  EXPECT_THAT(with_map(R"({"w": "b.safetensors", "x": "a.safetensors"})"), HasSubstr("it is in"));
  EXPECT_THAT(with_map(R"({"w": "a.safetensors", "x": "b.safetensors", "y": "b.safetensors"})"),
              HasSubstr("holds tensor y"));
  dir.write("b.safetensors", safetensors_bytes(header_of({entry("w", "F32", "[2]", 0, 8)}), 8));
  EXPECT_THAT(with_map(R"({"w": "a.safetensors", "x": "b.safetensors"})"), HasSubstr("names must be unique"));
}

TEST(HfFolder, ATiedHeadMayBeStoredIfItIsTheEmbedding) {
  const support::TmpDir dir;
  const std::string header =
      header_of({entry("model.embed_tokens.weight", "F32", "[2]", 0, 8), entry("lm_head.weight", "F32", "[2]", 8, 16)});
  const std::vector<ExpectedTensor> expected = {{"model.embed_tokens.weight", {2}}};
  std::string bytes = safetensors_bytes(header, 16);
  dir.write("model.safetensors", bytes);
  EXPECT_EQ(refusal(dir.path(), expected, true), "accepted");
  EXPECT_THAT(refusal(dir.path(), expected, false), HasSubstr("lm_head.weight"));
  bytes.back() = '\x02';
  dir.write("model.safetensors", bytes);
  EXPECT_THAT(refusal(dir.path(), expected, true),
              testing::AllOf(HasSubstr("lm_head.weight"), HasSubstr("tie_word_embeddings")));
}

TEST(HfFolder, AFolderThatDoesNotExistIsTheCallersMistake) {
  EXPECT_THROW(HfFolder("/nonexistent", kOne, false), ConfigError);
}

TEST(HfFolder, AFolderWithoutWeightsIsRefused) {
  const support::TmpDir dir;
  EXPECT_THAT(refusal(dir.path()), HasSubstr("model.safetensors"));
}

}  // namespace
}  // namespace convoy::checkpoint
