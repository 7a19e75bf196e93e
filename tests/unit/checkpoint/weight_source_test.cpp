// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/weight_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "libcore/base/error.h"
#include "libcore/checkpoint/step_directory.h"
#include "tests/support/tmp_dir.h"
#include "tests/unit/checkpoint/layouts.h"

namespace convoy::checkpoint {
namespace {

using tensor::DType;
using tensor::Shape;
using testing::HasSubstr;

// The weights of layouts::tensors(), the embedding first.
std::vector<ExpectedTensor> expected() {
  std::vector<ExpectedTensor> tensors;
  for (const layouts::Known& known : layouts::tensors())
    if (known.state == kWeight) tensors.push_back({known.name, known.shape});
  return tensors;
}

std::string refusal(WeightSource& source, const std::vector<ExpectedTensor>& tensors, bool tied = true) {
  try {
    source.expect(tensors, tied);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

class WeightSourceOfACheckpoint : public testing::Test {
 protected:
  WeightSourceOfACheckpoint() {
    std::filesystem::create_directories(run_ / "checkpoints");
    layouts::save(checkpoints_folder(run_.path()) / step_directory_name(10), layouts::spreads()[2].second, 4);
  }
  support::TmpDir run_;
};

TEST_F(WeightSourceOfACheckpoint, FindsTheNewestStepOfARunAndReadsItsBoxes) {
  WeightSource source(run_.path());
  EXPECT_EQ(source.step(), 10);
  EXPECT_EQ(source.folder().filename(), "step_000000010");
  EXPECT_THAT(source.model_config(), HasSubstr("model_type"));
  ASSERT_EQ(refusal(source, expected()), "");
  const tensor::Box box{{2, 1}, {3, 4}};
  const layouts::Known half{"half", "weight", DType::kF16, Shape{9, 5}};
  EXPECT_EQ(source.dtype("half"), DType::kF16);
  std::vector<std::byte> bits(12 * 2);
  source.read("half", box, {bits.data(), DType::kF16, box.extent, 0});
  EXPECT_EQ(bits, layouts::bytes_of_box(half, box));
}

TEST_F(WeightSourceOfACheckpoint, ReadsATiedHeadAsTheEmbedding) {
  WeightSource source(run_.path());
  std::vector<ExpectedTensor> tensors = expected();
  tensors.push_back({"lm_head.weight", Shape{37, 24}});
  ASSERT_EQ(refusal(source, tensors, false), "");
  std::vector<float> head(37 * 24), embedding(37 * 24);
  source.read("lm_head.weight", {head.data(), DType::kF32, Shape{37, 24}, 0});
  source.read("model.embed_tokens.weight", {embedding.data(), DType::kF32, Shape{37, 24}, 0});
  EXPECT_EQ(std::memcmp(head.data(), embedding.data(), head.size() * sizeof(float)), 0);
}

TEST_F(WeightSourceOfACheckpoint, IsRefusedForAnotherModel) {
  WeightSource source(run_.path());
  std::vector<ExpectedTensor> tensors = expected();
  tensors.back().shape = Shape{2};
  tensors.erase(tensors.begin() + 1);
  tensors.push_back({"more", Shape{3}});
  const std::string message = refusal(source, tensors);
  EXPECT_THAT(message, HasSubstr("scalar is [], expected [2]"));
  EXPECT_THAT(message, HasSubstr("model.layers.0.q_proj.weight has no place"));
  EXPECT_THAT(message, HasSubstr("more is missing"));
}

TEST(WeightSource, ReadsAHuggingFaceFolder) {
  const support::TmpDir dir;
  const std::array<float, 4> values = {1, 2, 3, 4};
  write_safetensors(dir / "model.safetensors", {{"w", {values.data(), DType::kF32, {2, 2}}}});
  dir.write("config.json", "{\"any\": 1}");
  WeightSource source(dir.path());
  EXPECT_FALSE(source.step().has_value());
  EXPECT_EQ(source.model_config(), "{\"any\": 1}");
  EXPECT_THAT(source.config_name(), HasSubstr("config.json"));
  source.expect({{"w", {2, 2}}}, false);
  std::array<float, 2> column{};
  source.read("w", {{0, 1}, {2, 1}}, {column.data(), DType::kF32, {2, 1}, 0});
  EXPECT_THAT(column, testing::ElementsAre(2, 4));
}

TEST(WeightSource, WhatHoldsNoWeightsIsRefused) {
  const support::TmpDir dir;
  EXPECT_THROW(WeightSource(dir / "nowhere"), ConfigError);
  EXPECT_THROW(WeightSource(dir.path()), DataError);
}

}  // namespace
}  // namespace convoy::checkpoint
