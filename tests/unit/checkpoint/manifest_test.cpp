// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/manifest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "tests/support/tmp_dir.h"

namespace convoy::checkpoint {
namespace {

using nlohmann::json;
using tensor::DType;
using tensor::Shape;
using testing::HasSubstr;
using testing::StartsWith;

Manifest small() {
  Manifest manifest;
  manifest.description = {
      .progress = {.step = 12, .update = 11, .consumed_samples = 96, .skipped_in_a_row = 1, .loss_scale = 1024.0},
      .layout = {.tensor = 2, .pipeline = 1, .zero_shards = 3},
      .model_config = "{\"a\": \"\xC3\xA9\"}\n",
      .fingerprint = {{"lr", "0.001"}, {"seed", "7"}},
      .aliases = {{"head", "embed"}},
      .origin = "run 1 \"quoted\""};
  manifest.save_id = "0123";
  manifest.tensors = {{"embed", "exp_avg", DType::kF32, Shape{4, 3}, 0x0123456789ABCDEF},
                      {"embed", "weight", DType::kBF16, Shape{4, 3}, 5},
                      {"scale", "weight", DType::kF16, Shape{}, 0}};
  manifest.files = {{"a.h5", 1000, 17}, {"b.h5", 4096, 0xFFFFFFFF}};
  manifest.fragments = {{0, 0, {Shape{0, 0}, Shape{2, 3}}, 512, {1}},
                        {0, 1, {Shape{2, 0}, Shape{2, 3}}, 512, {2}},
                        {1, 0, {Shape{0, 0}, Shape{4, 3}}, 576, {3}},
                        {2, 0, {Shape{}, Shape{}}, 640, {4}}};
  return manifest;
}

std::string refusal(const std::string& text) {
  try {
    parse_manifest(text, "dir/manifest.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Manifest, IsReadBackAsItWasWritten) {
  const std::string text = to_json(small());
  EXPECT_EQ(to_json(parse_manifest(text, "m")), text);
  const Manifest manifest = parse_manifest(text, "m");
  EXPECT_EQ(manifest.description.model_config, small().description.model_config);
  EXPECT_EQ(manifest.description.progress.loss_scale, 1024.0);
  EXPECT_EQ(manifest.tensors[0].digest, 0x0123456789ABCDEFu);
  EXPECT_EQ(manifest.files[1].crc32c, 0xFFFFFFFFu);
  EXPECT_EQ(manifest.fragments[1].box.text(), "[2:4, 0:3]");
}

// The lines of docs/formats.md, written out.
TEST(Manifest, DigestIsTheHashOfTheSortedLinesAndTheProgress) {
  EXPECT_EQ(digest_of(small()), sha256_hex("embed exp_avg fp32 [4,3] 0123456789abcdef\n"
                                           "embed weight bf16 [4,3] 0000000000000005\n"
                                           "head exp_avg fp32 [4,3] alias:embed\n"
                                           "head weight bf16 [4,3] alias:embed\n"
                                           "scale weight fp16 [] 0000000000000000\n"
                                           "step 12\nupdate 11\nconsumed_samples 96\nloss_scale 1024\n"));
}

TEST(Manifest, KeepsTheHistoryOfADynamicLossScaleAndItsDigestKnowsIt) {
  Manifest dynamic = small();
  dynamic.description.progress.loss_scale_history = {.finite_steps = 300, .overflows_left = 1};
  const std::string text = to_json(dynamic);
  EXPECT_EQ(parse_manifest(text, "m").description.progress.loss_scale_history, (LossScaleHistory{300, 1}));
  EXPECT_EQ(parse_manifest(to_json(small()), "m").description.progress.loss_scale_history, std::nullopt);
  dynamic.tensors.clear();
  EXPECT_EQ(digest_of(dynamic), sha256_hex("step 12\nupdate 11\nconsumed_samples 96\nloss_scale 1024\n"
                                           "loss_scale_finite_steps 300\nloss_scale_overflows_left 1\n"));
  json broken = json::parse(text);
  broken["progress"]["loss_scale_history"]["overflows_left"] = -1;
  EXPECT_THAT(refusal(broken.dump()), HasSubstr("progress.loss_scale_history.overflows_left: expected a whole number"));
  broken["progress"]["loss_scale_history"] = 3;
  EXPECT_THAT(refusal(broken.dump()), HasSubstr("progress.loss_scale_history"));
}

TEST(Manifest, DigestDoesNotKnowLayoutsFilesOrPeople) {
  Manifest other = small();
  other.save_id = "9";
  other.description.layout = {};
  other.description.origin = "elsewhere";
  other.description.progress.skipped_in_a_row = 0;
  other.files[0].size = 2000;
  EXPECT_EQ(digest_of(other), digest_of(small()));
  other.description.progress.consumed_samples = 97;
  EXPECT_NE(digest_of(other), digest_of(small()));
}

TEST(Manifest, EveryFieldIsNeededAndTyped) {
  const json good = json::parse(to_json(small()));
  for (const auto& [key, value] : good.items()) {
    json lacks = good;
    lacks.erase(key);
    EXPECT_EQ(refusal(lacks.dump()), "dir/manifest.json: " + key + " is missing");
    json typed = good;
    typed[key] = value.is_number() ? json("1") : json(1.5);
    EXPECT_THAT(refusal(typed.dump()), StartsWith("dir/manifest.json: " + key)) << key;
  }
  for (const char* list : {"tensors", "files", "fragments"}) {
    for (const auto& [key, value] : good[list][1].items()) {
      json lacks = good;
      lacks[list][1].erase(key);
      EXPECT_EQ(refusal(lacks.dump()), fmt::format("dir/manifest.json: {}[1].{} is missing", list, key));
      json typed = good;
      typed[list][1][key] = value.is_number() ? json("1") : json(1.5);
      EXPECT_THAT(refusal(typed.dump()), StartsWith(fmt::format("dir/manifest.json: {}[1].{}: expected", list, key)));
    }
  }
  for (const char* object : {"progress", "layout"}) {
    for (const auto& [key, value] : good[object].items()) {
      json lacks = good;
      lacks[object].erase(key);
      EXPECT_EQ(refusal(lacks.dump()), fmt::format("dir/manifest.json: {}.{} is missing", object, key));
    }
  }
}

TEST(Manifest, UnknownFieldsArePassedOver) {
  json text = json::parse(to_json(small()));
  text["new"] = {{"deep", {1, 2}}};
  text["tensors"][0]["new"] = 1;
  EXPECT_EQ(digest_of(parse_manifest(text.dump(), "m")), digest_of(small()));
}

struct Edit {
  const char* pointer;
  json value;
  const char* refusal;
};

TEST(Manifest, RefusesWhatDoesNotFit) {
  const json good = json::parse(to_json(small()));
  const std::vector<Edit> edits = {
      {"/format", "other", "format: expected \"convoy-checkpoint\", found \"other\""},
      {"/format_version", 2, "format_version: expected 1, which this version reads, found 2"},
      {"/digest", "00", "digest: expected"},
      {"/progress/step", -1, "progress.step: expected a whole number from 0"},
      {"/progress/step", 1.5, "progress.step: expected a whole number from 0"},
      {"/progress/loss_scale", "1", "progress.loss_scale: expected a number or null, found \"1\""},
      {"/layout/tensor", 0, "layout.tensor: expected a whole number from 1"},
      {"/fingerprint/lr", 1, "fingerprint.lr: expected a string, found 1"},
      {"/aliases/head", "none", "aliases.head: stands for none, which is no tensor"},
      {"/aliases/embed", "scale", "aliases.embed: is a tensor itself"},
      {"/tensors/0/dtype", "fp64", "tensors[0].dtype: expected fp32, bf16 or fp16, found \"fp64\""},
      {"/tensors/0/digest", "123", "tensors[0].digest: expected 16 hexadecimal digits, found \"123\""},
      {"/tensors/0/digest", "0123456789ABCDEF", "tensors[0].digest: expected 16 hexadecimal digits"},
      {"/tensors/0/shape", {4, 0}, "tensors[0].shape: expected a whole number from 1"},
      {"/tensors/0/shape", {1, 1, 1, 1, 12}, "tensors[0].shape: expected at most 4 dimensions"},
      {"/tensors/0/shape", {1 << 30, 1 << 30, 1 << 30}, "tensors[0].shape: expected fewer than 2^60 elements"},
      {"/tensors/0/name", "a/b", "tensors[0]: a name and a state"},
      {"/tensors/0/state", "z", "tensors[1]: embed weight follows embed z, expected ascending order"},
      {"/tensors/1/state", "exp_avg", "tensors[1]: embed exp_avg follows embed exp_avg, expected ascending order"},
      {"/files/0/name", "../a.h5", "files[0].name: expected a file of this folder"},
      {"/files/1/name", "a.h5", "files[1].name: a.h5 is there already"},
      {"/files/0/size", 641, "fragments[3]: 2 bytes at 640 leave a.h5, which has 641"},
      {"/fragments/0/tensor", 3, "fragments[0].tensor: 3 of 3 tensors"},
      {"/fragments/0/file", 2, "fragments[0].file: 2 of 2 files"},
      {"/fragments/0/start", {3, 0}, "fragments[0]: the box leaves embed exp_avg of [4, 3]"},
      {"/fragments/0/start", {0}, "fragments[0]: the box leaves embed exp_avg of [4, 3]"},
      {"/fragments/0/extent", {1, 3}, "tensor embed exp_avg of [4, 3]: no fragment holds [1:2, 0:3]"},
      {"/fragments/0/extent", {3, 3}, "tensor embed exp_avg of [4, 3]: fragments [0:3, 0:3] and [2:4, 0:3] overlap"},
      {"/fragments/0/offset", 560, "the fragments at 560 and 576 of a.h5 share bytes"},
      {"/fragments/0/offset", std::uint64_t{1} << 63, "fragments[0].offset: expected a whole number from 0"},
      {"/fragments/0/offset", INT64_MAX, "leave a.h5, which has 1000"},
      {"/fragments/0/crc32c", {1, 2}, "fragments[0].crc32c: expected 1 for 24 bytes, found 2"},
      {"/fragments/0/crc32c",
       {std::uint64_t{1} << 32},
       "fragments[0].crc32c: expected a whole number from 0 to 4294967295"},
      {"/fragments/0", 1, "fragments[0].: expected an object, found 1"},
      {"/fragments/0", json::array({1}), "fragments[0].: expected an object, found [1]"},
  };
  for (const Edit& edit : edits) {
    json text = good;
    text[json::json_pointer(edit.pointer)] = edit.value;
    EXPECT_THAT(refusal(text.dump()), HasSubstr(edit.refusal)) << edit.pointer;
    EXPECT_THAT(refusal(text.dump()), StartsWith("dir/manifest.json: "));
  }
}

TEST(Manifest, RefusesTextThatIsNoManifest) {
  EXPECT_THAT(refusal(""), HasSubstr("is not valid JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("expected an object, found []"));
  EXPECT_THAT(refusal("{\"tensors\": [1]}"), HasSubstr("tensors[0].: expected an object, found 1"));
  EXPECT_THAT(refusal("{\"tensors\": {\"a\": {}}}"), HasSubstr("tensors"));
  EXPECT_THAT(refusal("{\"a\": 1, \"a\": 2}"), HasSubstr("key \"a\" occurs twice"));
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("nested more than"));
  const std::string text = to_json(small());
  EXPECT_THAT(refusal(text.substr(0, text.size() / 2)), HasSubstr("is not valid JSON"));
}

// What another program wrote, the digest by another implementation of the formula: the fuzzer starts from these.
TEST(Manifest, TheFuzzersCorpusIsAccepted) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CONVOY_MANIFEST_CORPUS)) {
    EXPECT_NO_THROW(parse_manifest(support::content_of(entry.path()), entry.path().string()));
    ++files;
  }
  EXPECT_EQ(files, 5);
}

}  // namespace
}  // namespace convoy::checkpoint
