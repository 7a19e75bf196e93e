// SPDX-License-Identifier: Apache-2.0
// Writes config.json with the keys of both generations of transformers, so that either reads the same model.
#include <nlohmann/json.hpp>

#include "libcore/model/config.h"

namespace convoy::model {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson id_or_null(const std::optional<std::int32_t>& id) { return id ? OrderedJson(*id) : OrderedJson(nullptr); }

void add_gpt2(OrderedJson& json, const Config& config) {
  json["activation_function"] = "gelu_new";
  json["attn_pdrop"] = json["embd_pdrop"] = json["resid_pdrop"] = config.dropout;
  json["layer_norm_epsilon"] = config.norm_epsilon;
  json["n_ctx"] = config.positions;
  json["n_embd"] = config.width;
  json["n_head"] = config.heads;
  json["n_inner"] = config.ffn_width == 4 * config.width ? OrderedJson(nullptr) : OrderedJson(config.ffn_width);
  json["n_layer"] = config.layers;
  json["n_positions"] = config.positions;
  json["scale_attn_weights"] = true;
}

OrderedJson rope_scaling(const Config& config) {
  if (!config.rope_scaling) return nullptr;
  OrderedJson json;
  json["rope_type"] = "llama3";
  json["factor"] = config.rope_scaling->factor;
  json["low_freq_factor"] = config.rope_scaling->low_frequency_factor;
  json["high_freq_factor"] = config.rope_scaling->high_frequency_factor;
  json["original_max_position_embeddings"] = config.rope_scaling->original_positions;
  return json;
}

void add_llama(OrderedJson& json, const Config& config) {
  const OrderedJson scaling = rope_scaling(config);
  OrderedJson parameters = scaling.is_null() ? OrderedJson{{"rope_type", "default"}} : scaling;
  parameters["rope_theta"] = config.rope_theta;
  json["attention_bias"] = config.attention_bias;
  json["attention_dropout"] = config.dropout;
  json["head_dim"] = config.head_size;
  json["hidden_act"] = "silu";
  json["hidden_size"] = config.width;
  json["intermediate_size"] = config.ffn_width;
  json["max_position_embeddings"] = config.positions;
  json["mlp_bias"] = config.mlp_bias;
  json["num_attention_heads"] = config.heads;
  json["num_hidden_layers"] = config.layers;
  json["num_key_value_heads"] = config.key_value_heads;
  json["rms_norm_eps"] = config.norm_epsilon;
  json["rope_parameters"] = parameters;
  json["rope_scaling"] = scaling;
  json["rope_theta"] = config.rope_theta;
}

}  // namespace

std::string to_json(const Config& config, std::string_view dtype) {
  const bool gpt2 = config.architecture == Architecture::kGpt2;
  OrderedJson json;
  json["architectures"] = OrderedJson::array({gpt2 ? "GPT2LMHeadModel" : "LlamaForCausalLM"});
  json["model_type"] = gpt2 ? "gpt2" : "llama";
  if (gpt2) {
    add_gpt2(json, config);
  } else {
    add_llama(json, config);
  }
  json["bos_token_id"] = id_or_null(config.bos_id);
  json["eos_token_id"] = id_or_null(config.eos_id);
  json["dtype"] = dtype;
  json["initializer_range"] = config.initializer_range;
  json["tie_word_embeddings"] = config.tied_embeddings;
  json["torch_dtype"] = dtype;
  json["use_cache"] = true;
  json["vocab_size"] = config.vocabulary;
  return json.dump(2) + "\n";
}

}  // namespace convoy::model
