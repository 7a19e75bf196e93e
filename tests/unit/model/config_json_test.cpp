// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "libcore/model/config.h"

namespace convoy::model {
namespace {

bool same(const std::optional<RopeScaling>& a, const std::optional<RopeScaling>& b) {
  if (!a || !b) return !a && !b;
  return a->factor == b->factor && a->low_frequency_factor == b->low_frequency_factor &&
         a->high_frequency_factor == b->high_frequency_factor && a->original_positions == b->original_positions;
}

void expect_same(const Config& a, const Config& b, const std::string& what) {
  EXPECT_EQ(a.architecture, b.architecture) << what;
  EXPECT_EQ(a.vocabulary, b.vocabulary) << what;
  EXPECT_EQ(a.layers, b.layers) << what;
  EXPECT_EQ(a.width, b.width) << what;
  EXPECT_EQ(a.heads, b.heads) << what;
  EXPECT_EQ(a.key_value_heads, b.key_value_heads) << what;
  EXPECT_EQ(a.head_size, b.head_size) << what;
  EXPECT_EQ(a.ffn_width, b.ffn_width) << what;
  EXPECT_EQ(a.positions, b.positions) << what;
  EXPECT_EQ(a.norm_epsilon, b.norm_epsilon) << what;
  EXPECT_EQ(a.rope_theta, b.rope_theta) << what;
  EXPECT_TRUE(same(a.rope_scaling, b.rope_scaling)) << what;
  EXPECT_EQ(a.tied_embeddings, b.tied_embeddings) << what;
  EXPECT_EQ(a.attention_bias, b.attention_bias) << what;
  EXPECT_EQ(a.mlp_bias, b.mlp_bias) << what;
  EXPECT_EQ(a.initializer_range, b.initializer_range) << what;
  EXPECT_EQ(a.dropout, b.dropout) << what;
  EXPECT_EQ(a.bos_id, b.bos_id) << what;
  EXPECT_EQ(a.eos_id, b.eos_id) << what;
}

TEST(ConfigJson, EveryPresetReadsBackToItself) {
  for (const std::string& name : preset_names())
    expect_same(parse_config(to_json(preset(name), "bfloat16"), name), preset(name), name);
}

TEST(ConfigJson, RareChoicesReadBack) {
  Config config = preset("llama-15m");
  config.attention_bias = config.mlp_bias = true;
  config.norm_epsilon = 3.14e-6;
  set_dropout(config, 0.25);
  config.bos_id = config.eos_id = std::nullopt;
  expect_same(parse_config(to_json(config, "float32"), "x"), config, "llama");
  Config other = preset("gpt2-124m");
  other.ffn_width = 1000;
  other.tied_embeddings = false;
  expect_same(parse_config(to_json(other, "float32"), "x"), other, "gpt2");
}

TEST(ConfigJson, HasTheKeysOfBothGenerationsOfTransformers) {
  const auto json = nlohmann::json::parse(to_json(preset("llama-1b"), "bfloat16"));
  EXPECT_EQ(json["architectures"][0], "LlamaForCausalLM");
  EXPECT_EQ(json["model_type"], "llama");
  EXPECT_EQ(json["torch_dtype"], "bfloat16");
  EXPECT_EQ(json["dtype"], "bfloat16");
  EXPECT_EQ(json["rope_theta"], 500000.0);
  EXPECT_EQ(json["rope_scaling"]["rope_type"], "llama3");
  EXPECT_EQ(json["rope_parameters"]["rope_theta"], 500000.0);
  EXPECT_EQ(json["rope_parameters"]["factor"], 32.0);
  EXPECT_EQ(json["head_dim"], 64);
  EXPECT_EQ(json["vocab_size"], 128256);
}

}  // namespace
}  // namespace convoy::model
