// SPDX-License-Identifier: Apache-2.0
// What a model is: Hugging Face's config.json (of the families in family.cpp) or a named preset. A key that would
// change the mathematics and that we do not do (another activation, sliding windows, another scaling) is refused, never
// ignored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/file.h"

namespace convoy::model {

enum class Architecture { kGpt2, kLlama, kQwen2 };

// Llama 3's rotary scaling (Dubey et al., 2024): low frequencies divided by `factor`, smooth between the two bounds.
struct RopeScaling {
  double factor = 8.0;
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 4.0;
  std::int64_t original_positions = 8192;
};

// What share of the values is dropped in training, and the others are scaled up for: of the sum of the embeddings, of
// the probabilities of attention, and of the two branches of a block before they are added to the stream. Llama and its
// descendants have the second alone.
struct DropoutRates {
  double embedding = 0.0, attention = 0.0, residual = 0.0;
  double largest() const { return std::max({embedding, attention, residual}); }
  friend bool operator==(const DropoutRates&, const DropoutRates&) = default;
};

struct Config {
  Architecture architecture = Architecture::kLlama;
  std::int64_t vocabulary = 0;       // V
  std::int64_t layers = 0;           // L
  std::int64_t width = 0;            // C
  std::int64_t heads = 0;            // H
  std::int64_t key_value_heads = 0;  // K; GPT-2: H
  std::int64_t head_size = 0;        // D
  std::int64_t ffn_width = 0;        // F
  std::int64_t positions = 0;        // the longest sequence
  double norm_epsilon = 1e-5;
  double rope_theta = 10000.0;  // of all but GPT-2
  std::optional<RopeScaling> rope_scaling = std::nullopt;
  bool tied_embeddings = false;
  bool attention_bias = false;  // Llama: q, k, v, o; Qwen 2: q, k, v; GPT-2 always has biases
  bool mlp_bias = false;
  double initializer_range = 0.02;
  DropoutRates dropout = {};
  std::optional<std::int32_t> bos_id = std::nullopt, eos_id = std::nullopt;
};

// `where` names the file in errors: ConfigError for an unknown or contradictory key, DataError for text that is no
// JSON.
Config parse_config(std::string_view json, std::string_view where);
Config read_config(const Path& path);  // config.json, or a folder that holds one

std::vector<std::string> preset_names();
Config preset(std::string_view name);    // ConfigError lists the names
Config resolve(std::string_view model);  // a preset's name, else a path

std::string_view architecture_name(const Config& config);  // "LlamaForCausalLM"

// All the rates that the architecture has.
void set_dropout(Config& config, double rate);
std::string text_of(const DropoutRates& rates);  // "embedding 0.1, attention 0.1, residual 0.1"; those above 0

// The config.json that transformers reads back to the same model. `dtype` is "float32" or "bfloat16".
std::string to_json(const Config& config, std::string_view dtype);

}  // namespace convoy::model
