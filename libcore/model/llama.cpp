// SPDX-License-Identifier: Apache-2.0
// Llama 1 to 3.2 (Touvron et al., 2023; Dubey et al., 2024) as Hugging Face names and stores it.
#include "libcore/model/llama.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "libcore/model/config_limits.h"
#include "libcore/model/family.h"
#include "libcore/model/rope_config.h"
#include "libcore/model/table_builder.h"

namespace convoy::model {
namespace {

void check_llama_sizes(const Config& config, ConfigReader& reader) {
  if (config.width % config.heads != 0) {
    reader.problem("hidden_size",
                   fmt::format("{} is not a multiple of num_attention_heads {}", config.width, config.heads));
  }
  if (config.heads % config.key_value_heads != 0) {
    reader.problem("num_attention_heads",
                   fmt::format("{} is not a multiple of num_key_value_heads {}", config.heads, config.key_value_heads));
  }
  if (config.head_size % 2 != 0) {
    reader.problem("head_dim", fmt::format("rotary embedding needs an even head size, found {}", config.head_size));
  }
  if (config.heads * config.head_size > kMaxWidth) {
    reader.problem("head_dim",
                   fmt::format("{} heads of {} are wider than {}", config.heads, config.head_size, kMaxWidth));
  }
}

Config read(ConfigReader& reader) {
  Config config =
      read_llama_keys(reader, {.vocabulary = 32000, .ffn_width = 11008, .positions = 2048, .bos_id = 1, .eos_id = 2});
  config.attention_bias = reader.boolean("attention_bias", false);
  config.mlp_bias = reader.boolean("mlp_bias", false);
  reader.only("sliding_window", "null");
  return config;
}

void write(Json& json, const Config& config) {
  write_llama_keys(json, config);
  json["attention_bias"] = config.attention_bias;
  json["mlp_bias"] = config.mlp_bias;
}

std::vector<Parameter> table(const Config& config) {
  return llama_table(config, {.qkv = config.attention_bias, .output = config.attention_bias, .mlp = config.mlp_bias});
}

}  // namespace

Config read_llama_keys(ConfigReader& reader, const LlamaDefaults& defaults) {
  Config config;
  const std::size_t before = reader.problem_count();
  config.vocabulary = reader.integer("vocab_size", defaults.vocabulary, kVocabularyRange);
  config.positions = reader.integer("max_position_embeddings", defaults.positions, kPositionRange);
  config.width = reader.integer("hidden_size", 4096, kWidthRange);
  config.layers = reader.integer("num_hidden_layers", 32, kLayerRange);
  config.heads = reader.integer("num_attention_heads", 32, kWidthRange);
  config.key_value_heads = reader.integer("num_key_value_heads", config.heads, kWidthRange);
  config.head_size = reader.integer("head_dim", std::max<std::int64_t>(1, config.width / config.heads), kWidthRange);
  config.ffn_width = reader.integer("intermediate_size", defaults.ffn_width, kFfnRange);
  const bool sizes_are_read = reader.problem_count() == before;
  config.norm_epsilon = reader.real("rms_norm_eps", 1e-6, 0.0, 1.0);
  config.initializer_range = reader.real("initializer_range", 0.02, 0.0, 100.0);
  config.tied_embeddings = reader.boolean("tie_word_embeddings", false);
  config.dropout.attention = reader.real("attention_dropout", 0.0, 0.0, 1.0);
  config.bos_id = reader.token_id("bos_token_id", defaults.bos_id, config.vocabulary);
  config.eos_id = reader.token_id("eos_token_id", defaults.eos_id, config.vocabulary);
  const Rope rope = read_rope(reader);
  config.rope_theta = rope.theta;
  config.rope_scaling = rope.scaling;
  reader.one_of("hidden_act", {"silu", "swish"});
  if (sizes_are_read) check_llama_sizes(config, reader);
  return config;
}

void write_llama_keys(Json& json, const Config& config) {
  json["attention_dropout"] = config.dropout.attention;
  json["head_dim"] = config.head_size;
  json["hidden_act"] = "silu";
  json["hidden_size"] = config.width;
  json["intermediate_size"] = config.ffn_width;
  json["max_position_embeddings"] = config.positions;
  json["num_attention_heads"] = config.heads;
  json["num_hidden_layers"] = config.layers;
  json["num_key_value_heads"] = config.key_value_heads;
  json["rms_norm_eps"] = config.norm_epsilon;
  write_rope(json, config);
}

// Llama's matrices lie [out, in].
std::vector<Parameter> llama_table(const Config& config, const LlamaBiases& biases) {
  const std::int64_t c = config.width, f = config.ffn_width;
  const std::int64_t q = config.heads * config.head_size, kv = config.key_value_heads * config.head_size;
  TableBuilder table(config);
  table.scope(-1, "model.");
  table.matrix("embed_tokens.weight", {config.vocabulary, c}, Split::kRows, SplitUnit::kVocabulary);
  for (int layer = 0; layer < config.layers; ++layer) {
    table.scope(layer, fmt::format("model.layers.{}.", layer));
    table.norm_weight("input_layernorm.weight", c);
    table.matrix("self_attn.q_proj.weight", {q, c}, Split::kRows, SplitUnit::kHead);
    table.matrix("self_attn.k_proj.weight", {kv, c}, Split::kRows, SplitUnit::kKeyValueHead);
    table.matrix("self_attn.v_proj.weight", {kv, c}, Split::kRows, SplitUnit::kKeyValueHead);
    if (biases.qkv) {
      table.split_bias("self_attn.q_proj.bias", q, SplitUnit::kHead);
      table.split_bias("self_attn.k_proj.bias", kv, SplitUnit::kKeyValueHead);
      table.split_bias("self_attn.v_proj.bias", kv, SplitUnit::kKeyValueHead);
    }
    table.residual_matrix("self_attn.o_proj.weight", {c, q}, Split::kColumns, SplitUnit::kHead);
    if (biases.output) table.whole_bias("self_attn.o_proj.bias", c);
    table.norm_weight("post_attention_layernorm.weight", c);
    table.matrix("mlp.gate_proj.weight", {f, c}, Split::kRows, SplitUnit::kFfn);
    table.matrix("mlp.up_proj.weight", {f, c}, Split::kRows, SplitUnit::kFfn);
    if (biases.mlp) {
      table.split_bias("mlp.gate_proj.bias", f, SplitUnit::kFfn);
      table.split_bias("mlp.up_proj.bias", f, SplitUnit::kFfn);
    }
    table.residual_matrix("mlp.down_proj.weight", {c, f}, Split::kColumns, SplitUnit::kFfn);
    if (biases.mlp) table.whole_bias("mlp.down_proj.bias", c);
  }
  table.scope(static_cast<int>(config.layers), "model.");
  table.norm_weight("norm.weight", c);
  table.scope(static_cast<int>(config.layers), "");
  if (!config.tied_embeddings)
    table.matrix("lm_head.weight", {config.vocabulary, c}, Split::kRows, SplitUnit::kVocabulary);
  return table.take();
}

extern const Family kLlamaFamily{.architecture = Architecture::kLlama,
                                 .class_name = "LlamaForCausalLM",
                                 .model_type = "llama",
                                 .read = read,
                                 .write = write,
                                 .table = table};

}  // namespace convoy::model
