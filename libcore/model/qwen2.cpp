// SPDX-License-Identifier: Apache-2.0
// Qwen 2 and 2.5 (Yang et al., 2024) as Hugging Face names and stores it: Llama's layers with biases on queries, keys
// and values alone. Attention is full; their sliding window is off in every published model.
#include "libcore/model/family.h"
#include "libcore/model/llama.h"

namespace convoy::model {
namespace {

Config read(ConfigReader& reader) {
  Config config = read_llama_keys(reader, {.vocabulary = 151936, .ffn_width = 22016, .positions = 32768});
  config.attention_bias = true;
  // What the window would be if use_sliding_window, which has to be false, were true.
  reader.know("sliding_window");
  reader.know("max_window_layers");
  return config;
}

std::vector<Parameter> table(const Config& config) { return llama_table(config, {.qkv = true}); }

}  // namespace

extern const Family kQwen2Family{.architecture = Architecture::kQwen2,
                                 .class_name = "Qwen2ForCausalLM",
                                 .model_type = "qwen2",
                                 .read = read,
                                 .write = write_llama_keys,
                                 .table = table};

}  // namespace convoy::model
