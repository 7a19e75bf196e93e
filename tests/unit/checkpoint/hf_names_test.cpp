// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/hf_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libcore/base/error.h"

namespace convoy::checkpoint {
namespace {

TEST(HfNames, JoinsQueriesKeysAndValuesOfGpt2) {
  const std::vector<HfTensor> tensors = hf_tensors({{"transformer.wte.weight", {7, 4}},
                                                    {"transformer.h.0.attn.q_attn.weight", {4, 4}},
                                                    {"transformer.h.0.attn.k_attn.weight", {4, 4}},
                                                    {"transformer.h.0.attn.v_attn.weight", {4, 4}},
                                                    {"transformer.h.0.attn.q_attn.bias", {4}},
                                                    {"transformer.h.0.attn.k_attn.bias", {4}},
                                                    {"transformer.h.0.attn.v_attn.bias", {4}}});
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[1].name, "transformer.h.0.attn.c_attn.weight");
  EXPECT_EQ(tensors[1].shape, (tensor::Shape{4, 12}));
  EXPECT_THAT(tensors[1].parts, testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(tensors[2].name, "transformer.h.0.attn.c_attn.bias");
  EXPECT_EQ(tensors[2].shape, (tensor::Shape{12}));
}

TEST(HfNames, LeavesLlamasNamesAlone) {
  const std::vector<HfTensor> tensors = hf_tensors({{"model.layers.0.self_attn.q_proj.weight", {4, 4}}});
  EXPECT_EQ(tensors[0].name, "model.layers.0.self_attn.q_proj.weight");
}

TEST(HfNames, AFusedTensorNeedsAllItsParts) {
  EXPECT_THROW(hf_tensors({{"h.0.attn.q_attn.weight", {4, 4}}, {"h.0.attn.v_attn.weight", {4, 4}}}), InternalError);
  EXPECT_THROW(hf_tensors({{"h.0.attn.q_attn.weight", {4, 4}}}), InternalError);
}

TEST(HfNames, KnowsTheBuffersThatCarryNoWeights) {
  EXPECT_TRUE(is_ignorable_buffer("h.11.attn.bias"));
  EXPECT_TRUE(is_ignorable_buffer("transformer.h.0.attn.masked_bias"));
  EXPECT_TRUE(is_ignorable_buffer("model.layers.3.self_attn.rotary_emb.inv_freq"));
  EXPECT_FALSE(is_ignorable_buffer("h.0.attn.c_attn.bias"));
  EXPECT_FALSE(is_ignorable_buffer("h.x.attn.bias"));
  EXPECT_FALSE(is_ignorable_buffer("h.0.attn.bias.extra"));
  EXPECT_FALSE(is_ignorable_buffer("model.layers.0.self_attn.q_proj.bias"));
}

}  // namespace
}  // namespace convoy::checkpoint
