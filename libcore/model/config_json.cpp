// SPDX-License-Identifier: Apache-2.0
// Writes config.json with the keys of both generations of transformers, so that either reads the same model.
#include <nlohmann/json.hpp>

#include "libcore/model/config.h"
#include "libcore/model/family.h"

namespace convoy::model {
namespace {

Json id_or_null(const std::optional<std::int32_t>& id) { return id ? Json(*id) : Json(nullptr); }

}  // namespace

std::string to_json(const Config& config, std::string_view dtype) {
  const Family& family = family_of(config.architecture);
  Json json;
  json["architectures"] = Json::array({family.class_name});
  json["model_type"] = family.model_type;
  family.write(json, config);
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
