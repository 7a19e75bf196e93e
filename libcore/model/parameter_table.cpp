// SPDX-License-Identifier: Apache-2.0
// The tables of GPT-2 and Llama, entry by entry in model order.
#include <fmt/format.h>

#include <cmath>

#include "libcore/model/parameters.h"

namespace convoy::model {
namespace {

class TableBuilder {
 public:
  explicit TableBuilder(const Config& config)
      : std_(config.initializer_range),
        residual_std_(config.initializer_range / std::sqrt(2.0 * static_cast<double>(config.layers))) {}

  // The entries added from here on belong to `layer` and their names begin with `prefix`.
  void scope(int layer, std::string prefix) {
    layer_ = layer;
    prefix_ = std::move(prefix);
  }

  void matrix(const std::string& name, const tensor::Shape& shape, Split split, SplitUnit unit) {
    table_.push_back({prefix_ + name, shape, Init::kNormal, std_, true, split, unit, false, layer_});
  }
  // A projection back into the residual stream: its standard deviation shrinks with depth (Radford et al., 2019,
  // section 2.3).
  void residual_matrix(const std::string& name, const tensor::Shape& shape, Split split, SplitUnit unit) {
    table_.push_back({prefix_ + name, shape, Init::kNormal, residual_std_, true, split, unit, false, layer_});
  }
  // A bias of a product whose outputs are split over ranks.
  void split_bias(const std::string& name, std::int64_t size, SplitUnit unit) {
    table_.push_back({prefix_ + name, {size}, Init::kZero, 0.0, false, Split::kRows, unit, false, layer_});
  }
  // A bias of a product whose inputs are split over ranks: added once, after the sum over them.
  // The gradient of its outputs is there for all rows, because its weight's needs them.
  void whole_bias(const std::string& name, std::int64_t size) { whole(name, {size}, Init::kZero, 0.0, false, false); }
  // A norm sees a rank's own rows alone.
  void norm_weight(const std::string& name, std::int64_t size) { whole(name, {size}, Init::kOne, 0.0, false, true); }
  void norm_bias(const std::string& name, std::int64_t size) { whole(name, {size}, Init::kZero, 0.0, false, true); }
  // Learned positions: added to all rows, as those of the vocabulary are.
  void positions(const std::string& name, std::int64_t rows, std::int64_t columns) {
    whole(name, {rows, columns}, Init::kNormal, std_, true, false);
  }

  std::vector<Parameter> take() { return std::move(table_); }

 private:
  void whole(const std::string& name, const tensor::Shape& shape, Init init, double std, bool decays, bool partial) {
    table_.push_back({prefix_ + name, shape, init, std, decays, Split::kReplicated, SplitUnit::kNone, partial, layer_});
  }

  double std_;
  double residual_std_;
  int layer_ = -1;
  std::string prefix_;
  std::vector<Parameter> table_;
};

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

// Llama's matrices lie [out, in].
std::vector<Parameter> llama_table(const Config& config) {
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
    if (config.attention_bias) {
      table.split_bias("self_attn.q_proj.bias", q, SplitUnit::kHead);
      table.split_bias("self_attn.k_proj.bias", kv, SplitUnit::kKeyValueHead);
      table.split_bias("self_attn.v_proj.bias", kv, SplitUnit::kKeyValueHead);
    }
    table.residual_matrix("self_attn.o_proj.weight", {c, q}, Split::kColumns, SplitUnit::kHead);
    if (config.attention_bias) table.whole_bias("self_attn.o_proj.bias", c);
    table.norm_weight("post_attention_layernorm.weight", c);
    table.matrix("mlp.gate_proj.weight", {f, c}, Split::kRows, SplitUnit::kFfn);
    table.matrix("mlp.up_proj.weight", {f, c}, Split::kRows, SplitUnit::kFfn);
    if (config.mlp_bias) {
      table.split_bias("mlp.gate_proj.bias", f, SplitUnit::kFfn);
      table.split_bias("mlp.up_proj.bias", f, SplitUnit::kFfn);
    }
    table.residual_matrix("mlp.down_proj.weight", {c, f}, Split::kColumns, SplitUnit::kFfn);
    if (config.mlp_bias) table.whole_bias("mlp.down_proj.bias", c);
  }
  table.scope(static_cast<int>(config.layers), "model.");
  table.norm_weight("norm.weight", c);
  table.scope(static_cast<int>(config.layers), "");
  if (!config.tied_embeddings)
    table.matrix("lm_head.weight", {config.vocabulary, c}, Split::kRows, SplitUnit::kVocabulary);
  return table.take();
}

}  // namespace

std::vector<Parameter> parameter_table(const Config& config) {
  return config.architecture == Architecture::kGpt2 ? gpt2_table(config) : llama_table(config);
}

std::int64_t parameter_count(const std::vector<Parameter>& table) {
  std::int64_t count = 0;
  for (const Parameter& parameter : table) count += parameter.shape.count();
  return count;
}

double training_flops_per_token(const Config& config, std::int64_t sequence_length) {
  const auto c = static_cast<double>(config.width), f = static_cast<double>(config.ffn_width);
  const auto q = static_cast<double>(config.heads * config.head_size);
  const auto kv = static_cast<double>(config.key_value_heads * config.head_size);
  const double attention = c * (q + 2.0 * kv) + q * c;
  const double mlp = config.architecture == Architecture::kGpt2 ? 2.0 * c * f : 3.0 * c * f;
  const auto layers = static_cast<double>(config.layers);
  const double matmul = layers * (attention + mlp) + static_cast<double>(config.vocabulary) * c;
  return 6.0 * matmul + 6.0 * layers * static_cast<double>(sequence_length) * q;
}

}  // namespace convoy::model
