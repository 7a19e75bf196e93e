// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libcore/model/parameters.h"

namespace convoy::model {
namespace {

Config small_llama() {
  Config c = preset("llama-15m");
  c.layers = 2;
  c.key_value_heads = 2;
  c.tied_embeddings = false;
  return c;
}

const Parameter& find(const std::vector<Parameter>& table, const std::string& name) {
  for (const Parameter& parameter : table) {
    if (parameter.name == name) return parameter;
  }
  ADD_FAILURE() << name << " is not in the table";
  return table.front();
}

std::vector<std::string> names(const std::vector<Parameter>& table) {
  std::vector<std::string> list;
  for (const Parameter& parameter : table) list.push_back(parameter.name);
  return list;
}

TEST(ParameterTable, LlamaListsUnfusedNamesInModelOrder) {
  Config c = small_llama();
  c.layers = 1;
  EXPECT_THAT(names(parameter_table(c)),
              testing::ElementsAre("model.embed_tokens.weight", "model.layers.0.input_layernorm.weight",
                                   "model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight",
                                   "model.layers.0.self_attn.v_proj.weight", "model.layers.0.self_attn.o_proj.weight",
                                   "model.layers.0.post_attention_layernorm.weight",
                                   "model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.up_proj.weight",
                                   "model.layers.0.mlp.down_proj.weight", "model.norm.weight", "lm_head.weight"));
}

TEST(ParameterTable, Gpt2ListsUnfusedNamesInModelOrder) {
  Config c = preset("gpt2-124m");
  c.layers = 1;
  EXPECT_THAT(
      names(parameter_table(c)),
      testing::ElementsAre(
          "transformer.wte.weight", "transformer.wpe.weight", "transformer.h.0.ln_1.weight",
          "transformer.h.0.ln_1.bias", "transformer.h.0.attn.q_attn.weight", "transformer.h.0.attn.k_attn.weight",
          "transformer.h.0.attn.v_attn.weight", "transformer.h.0.attn.q_attn.bias", "transformer.h.0.attn.k_attn.bias",
          "transformer.h.0.attn.v_attn.bias", "transformer.h.0.attn.c_proj.weight", "transformer.h.0.attn.c_proj.bias",
          "transformer.h.0.ln_2.weight", "transformer.h.0.ln_2.bias", "transformer.h.0.mlp.c_fc.weight",
          "transformer.h.0.mlp.c_fc.bias", "transformer.h.0.mlp.c_proj.weight", "transformer.h.0.mlp.c_proj.bias",
          "transformer.ln_f.weight", "transformer.ln_f.bias"));
}

TEST(ParameterTable, ShapesAreInTheOrientationOfHuggingFacesFiles) {
  const std::vector<Parameter> llama = parameter_table(small_llama());
  EXPECT_EQ(find(llama, "model.layers.1.self_attn.k_proj.weight").shape, (tensor::Shape{96, 288}));
  EXPECT_EQ(find(llama, "model.layers.1.mlp.down_proj.weight").shape, (tensor::Shape{288, 768}));
  const std::vector<Parameter> gpt2 = parameter_table(preset("gpt2-124m"));
  EXPECT_EQ(find(gpt2, "transformer.h.3.mlp.c_fc.weight").shape, (tensor::Shape{768, 3072}));
  EXPECT_EQ(find(gpt2, "transformer.h.3.attn.q_attn.weight").shape, (tensor::Shape{768, 768}));
}

TEST(ParameterTable, MatricesDecayAndVectorsDoNot) {
  for (const Config& config : {small_llama(), preset("gpt2-124m")}) {
    for (const Parameter& parameter : parameter_table(config)) {
      EXPECT_EQ(parameter.decays, parameter.shape.rank() == 2) << parameter.name;
    }
  }
}

TEST(ParameterTable, ResidualProjectionsStartSmallerWithDepth) {
  const std::vector<Parameter> table = parameter_table(small_llama());
  EXPECT_DOUBLE_EQ(find(table, "model.layers.0.self_attn.q_proj.weight").init_std, 0.02);
  EXPECT_DOUBLE_EQ(find(table, "model.layers.0.self_attn.o_proj.weight").init_std, 0.02 / std::sqrt(4.0));
  EXPECT_DOUBLE_EQ(find(table, "model.layers.1.mlp.down_proj.weight").init_std, 0.02 / std::sqrt(4.0));
  EXPECT_EQ(find(table, "model.norm.weight").init, Init::kOne);
  EXPECT_EQ(find(parameter_table(preset("gpt2-124m")), "transformer.h.0.mlp.c_fc.bias").init, Init::kZero);
}

TEST(ParameterTable, SplitsColumnParallelOutputsAndRowParallelInputs) {
  const std::vector<Parameter> llama = parameter_table(small_llama());
  EXPECT_EQ(find(llama, "model.layers.0.mlp.gate_proj.weight").split, Split::kRows);     // [out, in]: outputs
  EXPECT_EQ(find(llama, "model.layers.0.mlp.down_proj.weight").split, Split::kColumns);  // [out, in]: inputs
  EXPECT_TRUE(find(llama, "model.norm.weight").partial);
  EXPECT_FALSE(find(llama, "model.layers.0.self_attn.o_proj.weight").partial);
  const std::vector<Parameter> gpt2 = parameter_table(preset("gpt2-124m"));
  EXPECT_EQ(find(gpt2, "transformer.h.0.mlp.c_fc.weight").split, Split::kColumns);  // [in, out]: outputs
  EXPECT_EQ(find(gpt2, "transformer.h.0.mlp.c_fc.bias").split, Split::kRows);
  EXPECT_EQ(find(gpt2, "transformer.h.0.mlp.c_proj.weight").split, Split::kRows);  // [in, out]: inputs
  EXPECT_EQ(find(gpt2, "transformer.h.0.mlp.c_proj.bias").split, Split::kReplicated);
}

TEST(ParameterTable, LayersAreNumberedFromTheEmbeddingToTheHead) {
  const std::vector<Parameter> table = parameter_table(small_llama());
  EXPECT_EQ(table.front().layer, -1);
  EXPECT_EQ(find(table, "model.layers.1.mlp.up_proj.weight").layer, 1);
  EXPECT_EQ(find(table, "lm_head.weight").layer, 2);
}

TEST(ParameterTable, BiasesOfLlamaAreOptional) {
  Config c = small_llama();
  const std::size_t without = parameter_table(c).size();
  c.attention_bias = true;
  EXPECT_EQ(parameter_table(c).size(), without + 2 * 4);
  c.mlp_bias = true;
  EXPECT_EQ(parameter_table(c).size(), without + 2 * 7);
}

// By hand for C = 2, H = K = 1, D = 2, F = 3, V = 5, L = 1, T = 4: products hold 2*6 + 2*2 + 3*2*3 + 5*2 = 44 weights.
TEST(ParameterTable, FlopsAreSixAWeightAndSixLTCForAttention) {
  Config c;
  c.vocabulary = 5;
  c.layers = c.heads = c.key_value_heads = 1;
  c.width = c.head_size = 2;
  c.ffn_width = 3;
  EXPECT_DOUBLE_EQ(training_flops_per_token(c, 4), 6.0 * 44 + 6.0 * 1 * 4 * 2);
}

}  // namespace
}  // namespace convoy::model
