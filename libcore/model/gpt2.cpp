// SPDX-License-Identifier: Apache-2.0
// GPT-2 (Radford et al., 2019) as Hugging Face names and stores it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "libcore/model/config_limits.h"
#include "libcore/model/family.h"
#include "libcore/model/table_builder.h"

namespace convoy::model {
namespace {

Config read_gpt2(ConfigReader& reader) {
  Config config{.architecture = Architecture::kGpt2};
  const std::size_t before = reader.problem_count();
  config.vocabulary = reader.integer("vocab_size", 50257, kVocabularyRange);
  config.positions = reader.integer({"n_positions", "max_position_embeddings", "n_ctx"}, 1024, kPositionRange);
  config.width = reader.integer({"n_embd", "hidden_size"}, 768, kWidthRange);
  config.layers = reader.integer({"n_layer", "num_hidden_layers"}, 12, kLayerRange);
  config.heads = reader.integer({"n_head", "num_attention_heads"}, 12, kWidthRange);
  config.key_value_heads = config.heads;
  config.ffn_width = reader.integer("n_inner", 4 * config.width, kFfnRange);
  const bool sizes_are_read = reader.problem_count() == before;
  config.norm_epsilon = reader.real("layer_norm_epsilon", 1e-5, 0.0, 1.0);
  config.initializer_range = reader.real("initializer_range", 0.02, 0.0, 100.0);
  config.tied_embeddings = reader.boolean("tie_word_embeddings", true);
  config.attention_bias = config.mlp_bias = true;
  config.dropout = {.embedding = reader.real("embd_pdrop", 0.1, 0.0, 1.0),
                    .attention = reader.real("attn_pdrop", 0.1, 0.0, 1.0),
                    .residual = reader.real("resid_pdrop", 0.1, 0.0, 1.0)};
  config.bos_id = reader.token_id("bos_token_id", 50256, config.vocabulary);
  config.eos_id = reader.token_id("eos_token_id", 50256, config.vocabulary);
  reader.one_of("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  reader.only("sliding_window", "null");
  if (sizes_are_read && config.width % config.heads != 0) {
    reader.problem("n_embd", fmt::format("{} is not a multiple of n_head {}", config.width, config.heads));
  }
  config.head_size = config.width / config.heads;
  return config;
}

void write_gpt2(Json& json, const Config& config) {
  json["activation_function"] = "gelu_new";
  json["attn_pdrop"] = config.dropout.attention;
  json["embd_pdrop"] = config.dropout.embedding;
  json["resid_pdrop"] = config.dropout.residual;
  json["layer_norm_epsilon"] = config.norm_epsilon;
  json["n_ctx"] = config.positions;
  json["n_embd"] = config.width;
  json["n_head"] = config.heads;
  json["n_inner"] = config.ffn_width == 4 * config.width ? Json(nullptr) : Json(config.ffn_width);
  json["n_layer"] = config.layers;
  json["n_positions"] = config.positions;
  json["scale_attn_weights"] = true;
}

// GPT-2's matrices lie [in, out].
std::vector<Parameter> gpt2_table(const Config& config) {
  const std::int64_t c = config.width, f = config.ffn_width;
  TableBuilder table(config);
  table.scope(-1, "transformer.");
  table.matrix("wte.weight", {config.vocabulary, c}, Split::kRows, SplitUnit::kVocabulary);
  table.positions("wpe.weight", config.positions, c);
  for (int layer = 0; layer < config.layers; ++layer) {
    table.scope(layer, fmt::format("transformer.h.{}.", layer));
    table.norm_weight("ln_1.weight", c);
    table.norm_bias("ln_1.bias", c);
    for (const char* part : {"q", "k", "v"})
      table.matrix(fmt::format("attn.{}_attn.weight", part), {c, c}, Split::kColumns, SplitUnit::kHead);
    for (const char* part : {"q", "k", "v"})
      table.split_bias(fmt::format("attn.{}_attn.bias", part), c, SplitUnit::kHead);
    table.residual_matrix("attn.c_proj.weight", {c, c}, Split::kRows, SplitUnit::kHead);
    table.whole_bias("attn.c_proj.bias", c);
    table.norm_weight("ln_2.weight", c);
    table.norm_bias("ln_2.bias", c);
    table.matrix("mlp.c_fc.weight", {c, f}, Split::kColumns, SplitUnit::kFfn);
    table.split_bias("mlp.c_fc.bias", f, SplitUnit::kFfn);
    table.residual_matrix("mlp.c_proj.weight", {f, c}, Split::kRows, SplitUnit::kFfn);
    table.whole_bias("mlp.c_proj.bias", c);
  }
  table.scope(static_cast<int>(config.layers), "transformer.");
  table.norm_weight("ln_f.weight", c);
  table.norm_bias("ln_f.bias", c);
  table.scope(static_cast<int>(config.layers), "");
  if (!config.tied_embeddings)
    table.matrix("lm_head.weight", {config.vocabulary, c}, Split::kRows, SplitUnit::kVocabulary);
  return table.take();
}

}  // namespace

extern const Family kGpt2Family{.architecture = Architecture::kGpt2,
                                .class_name = "GPT2LMHeadModel",
                                .model_type = "gpt2",
                                .read = read_gpt2,
                                .write = write_gpt2,
                                .table = gpt2_table};

}  // namespace convoy::model
