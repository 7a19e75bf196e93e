// SPDX-License-Identifier: Apache-2.0
// The families of models that convoy trains: what Hugging Face calls an architecture. Adding one is a file beside
// gpt2.cpp, llama.cpp and qwen2.cpp (its config.json, its parameter table), its row in family.cpp and, where its layers
// compute what no other's do, a block. Private to the module.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "libcore/model/config.h"
#include "libcore/model/config_reader.h"
#include "libcore/model/parameters.h"

namespace convoy::model {

struct Family {
  Architecture architecture;
  std::string_view class_name;  // "LlamaForCausalLM", in `architectures`
  std::string_view model_type;  // "llama"
  // The family's own keys of config.json, with transformers' defaults; problems go to the reader. Not `architecture`.
  Config (*read)(ConfigReader& reader);
  void (*write)(Json& json, const Config& config);
  std::vector<Parameter> (*table)(const Config& config);  // in model order
};

std::span<const Family> families();
const Family& family_of(Architecture architecture);

extern const Family kGpt2Family, kLlamaFamily, kQwen2Family;

}  // namespace convoy::model
