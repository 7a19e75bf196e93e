// SPDX-License-Identifier: Apache-2.0
// What Llama and its descendants share: pre-norm blocks of grouped-query attention with rotary embedding and SwiGLU.
// Private to the module.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "libcore/model/config.h"
#include "libcore/model/config_reader.h"
#include "libcore/model/parameters.h"

namespace convoy::model {

// What transformers takes where config.json has no such key.
struct LlamaDefaults {
  std::int64_t vocabulary = 0, ffn_width = 0, positions = 0;
  std::optional<std::int32_t> bos_id = std::nullopt, eos_id = std::nullopt;
};

// Reads all keys but those of biases.
Config read_llama_keys(ConfigReader& reader, const LlamaDefaults& defaults);
void write_llama_keys(Json& json, const Config& config);

// Which products of a layer add a bias.
struct LlamaBiases {
  bool qkv = false, output = false, mlp = false;
};
std::vector<Parameter> llama_table(const Config& config, const LlamaBiases& biases);

}  // namespace convoy::model
