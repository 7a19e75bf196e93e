// SPDX-License-Identifier: Apache-2.0
// Named models with their published configurations, dropout rates among them: GPT-2 (Radford et al., 2019), Llama 1
// to 3.2 (Touvron et al., 2023; Dubey et al., 2024), Qwen 2 (Yang et al., 2024), and two small Llamas of the size class
// that is trained on children's stories.
#include <fmt/format.h>

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/model/config.h"

namespace convoy::model {
namespace {

struct NamedConfig {
  std::string name;
  Config config;
};

NamedConfig gpt2(std::string name, std::int64_t layers, std::int64_t heads, std::int64_t width) {
  Config c{.architecture = Architecture::kGpt2, .vocabulary = 50257, .layers = layers, .width = width, .heads = heads};
  c.key_value_heads = heads;
  c.head_size = width / heads;
  c.ffn_width = 4 * width;
  c.positions = 1024;
  c.tied_embeddings = c.attention_bias = c.mlp_bias = true;
  c.bos_id = c.eos_id = 50256;
  set_dropout(c, 0.1);
  return {std::move(name), c};
}

struct LlamaShape {
  std::int64_t layers, heads, key_value_heads, width, ffn_width, positions;
};

NamedConfig llama(std::string name, const LlamaShape& shape) {
  Config c{.architecture = Architecture::kLlama, .vocabulary = 32000, .layers = shape.layers, .width = shape.width};
  c.heads = shape.heads;
  c.key_value_heads = shape.key_value_heads;
  c.head_size = shape.width / shape.heads;
  c.ffn_width = shape.ffn_width;
  c.positions = shape.positions;
  c.bos_id = 1;
  c.eos_id = 2;
  return {std::move(name), c};
}

NamedConfig llama_tied(std::string name, const LlamaShape& shape) {
  NamedConfig named = llama(std::move(name), shape);
  named.config.tied_embeddings = true;
  return named;
}

NamedConfig llama3(std::string name, const LlamaShape& shape, std::optional<double> rope_factor, bool tied = false) {
  NamedConfig named = llama(std::move(name), shape);
  named.config.vocabulary = 128256;
  named.config.rope_theta = 500000.0;
  if (rope_factor) named.config.rope_scaling = RopeScaling{.factor = *rope_factor};
  named.config.tied_embeddings = tied;
  named.config.bos_id = 128000;
  named.config.eos_id = 128001;
  return named;
}

NamedConfig llama1(std::string name, const LlamaShape& shape) {
  NamedConfig named = llama(std::move(name), shape);
  named.config.norm_epsilon = 1e-6;
  return named;
}

NamedConfig qwen2(std::string name, const LlamaShape& shape, std::int64_t vocabulary, bool tied) {
  NamedConfig named = llama(std::move(name), shape);
  Config& c = named.config;
  c.architecture = Architecture::kQwen2;
  c.vocabulary = vocabulary;
  c.norm_epsilon = 1e-6;
  c.rope_theta = 1e6;
  c.tied_embeddings = tied;
  c.attention_bias = true;
  c.bos_id = c.eos_id = 151643;
  return named;
}

const std::vector<NamedConfig>& presets() {
  static const std::vector<NamedConfig> all = {
      gpt2("gpt2-124m", 12, 12, 768),
      gpt2("gpt2-355m", 24, 16, 1024),
      gpt2("gpt2-774m", 36, 20, 1280),
      gpt2("gpt2-1558m", 48, 25, 1600),
      llama_tied("llama-15m", {6, 6, 6, 288, 768, 256}),
      llama_tied("llama-110m", {12, 12, 12, 768, 2048, 1024}),
      llama3("llama-1b", {16, 32, 8, 2048, 8192, 131072}, 32.0, true),
      llama3("llama-3b", {28, 24, 8, 3072, 8192, 131072}, 32.0, true),
      llama1("llama-7b", {32, 32, 32, 4096, 11008, 2048}),
      llama1("llama-13b", {40, 40, 40, 5120, 13824, 2048}),
      llama("llama2-7b", {32, 32, 32, 4096, 11008, 4096}),
      llama("llama2-13b", {40, 40, 40, 5120, 13824, 4096}),
      llama("llama2-70b", {80, 64, 8, 8192, 28672, 4096}),
      llama3("llama3-8b", {32, 32, 8, 4096, 14336, 8192}, std::nullopt),
      llama3("llama3-70b", {80, 64, 8, 8192, 28672, 8192}, std::nullopt),
      llama3("llama3.1-8b", {32, 32, 8, 4096, 14336, 131072}, 8.0),
      llama3("llama3.1-70b", {80, 64, 8, 8192, 28672, 131072}, 8.0),
      llama3("llama3.1-405b", {126, 128, 8, 16384, 53248, 131072}, 8.0),
      qwen2("qwen2-0.5b", {24, 14, 2, 896, 4864, 131072}, 151936, true),
      qwen2("qwen2-1.5b", {28, 12, 2, 1536, 8960, 131072}, 151936, true),
      qwen2("qwen2-7b", {28, 28, 4, 3584, 18944, 131072}, 152064, false),
  };
  return all;
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const NamedConfig& named : presets()) names.push_back(named.name);
  return names;
}

Config preset(std::string_view name) {
  const auto& all = presets();
  const auto it = std::find_if(all.begin(), all.end(), [&](const NamedConfig& named) { return named.name == name; });
  if (it != all.end()) return it->config;
  throw ConfigError(
      fmt::format("there is no preset \"{}\"; the presets are {}", name, fmt::join(preset_names(), ", ")));
}

}  // namespace convoy::model
