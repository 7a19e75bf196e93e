// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/rope_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "libcore/model/config_limits.h"

namespace convoy::model {
namespace {

bool same(const std::optional<RopeScaling>& a, const std::optional<RopeScaling>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->factor == b->factor && a->low_frequency_factor == b->low_frequency_factor &&
         a->high_frequency_factor == b->high_frequency_factor && a->original_positions == b->original_positions;
}

RopeScaling read_scaling(ConfigReader& reader) {
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    if (reader.find(key) == nullptr) reader.problem(key, "is missing; rope_type \"llama3\" needs it");
  }
  RopeScaling scaling;
  scaling.factor = reader.real("factor", scaling.factor, 1.0, 1e6);
  scaling.low_frequency_factor = reader.real("low_freq_factor", scaling.low_frequency_factor, 1e-6, 1e6);
  scaling.high_frequency_factor = reader.real("high_freq_factor", scaling.high_frequency_factor, 1e-6, 1e6);
  scaling.original_positions =
      reader.integer("original_max_position_embeddings", scaling.original_positions, kPositionRange);
  if (scaling.high_frequency_factor <= scaling.low_frequency_factor) {
    reader.problem("high_freq_factor", fmt::format("expected more than low_freq_factor {}, found {}",
                                                   scaling.low_frequency_factor, scaling.high_frequency_factor));
  }
  return scaling;
}

// The object under `key`: rope_parameters, which holds the base too, or rope_scaling.
Rope read_object(ConfigReader& outer, const std::string& key, const Json& object) {
  ConfigReader reader = outer.nested(key, object);
  Rope rope;
  const std::string type = reader.text(reader.has("rope_type") ? "rope_type" : "type", "default");
  if (reader.has("type") && reader.text("type", type) != type)
    reader.problem("type", "disagrees with rope_type; keep one");
  if (key == "rope_parameters") {
    rope.theta = reader.real("rope_theta", 10000.0, 1.0, 1e12);
    if (reader.real("partial_rotary_factor", 1.0, 0.0, 1.0) != 1.0) {
      reader.problem("partial_rotary_factor", "is not supported: expected 1.0");
    }
  }
  if (type == "llama3") {
    rope.scaling = read_scaling(reader);
  } else if (type != "default") {
    reader.problem("rope_type",
                   fmt::format("is not supported: expected \"default\" or \"llama3\", found \"{}\"", type));
    return rope;
  }
  reader.refuse_unknown_keys();
  return rope;
}

Json scaling_json(const Config& config) {
  if (!config.rope_scaling) return nullptr;
  Json json;
  json["rope_type"] = "llama3";
  json["factor"] = config.rope_scaling->factor;
  json["low_freq_factor"] = config.rope_scaling->low_frequency_factor;
  json["high_freq_factor"] = config.rope_scaling->high_frequency_factor;
  json["original_max_position_embeddings"] = config.rope_scaling->original_positions;
  return json;
}

}  // namespace

Rope read_rope(ConfigReader& reader) {
  Rope older{.theta = reader.real("rope_theta", 10000.0, 1.0, 1e12), .scaling = {}};
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* value = reader.find(key);
    if (value != nullptr && !value->is_object()) reader.problem(key, "expected an object or null");
  }
  const Json* scaling = reader.find("rope_scaling");
  if (scaling != nullptr && scaling->is_object()) {
    older.scaling = read_object(reader, "rope_scaling", *scaling).scaling;
  }
  const Json* parameters = reader.find("rope_parameters");
  if (parameters == nullptr || !parameters->is_object()) return older;
  const Rope newer = read_object(reader, "rope_parameters", *parameters);
  if (reader.find("rope_theta") != nullptr && older.theta != newer.theta) {
    reader.problem("rope_theta",
                   fmt::format("is {}, but rope_parameters.rope_theta is {}; keep one", older.theta, newer.theta));
  }
  if (reader.has("rope_scaling") && !same(older.scaling, newer.scaling)) {
    reader.problem("rope_scaling", "disagrees with rope_parameters, the newer key for it; keep one");
  }
  return newer;
}

void write_rope(Json& json, const Config& config) {
  const Json scaling = scaling_json(config);
  Json parameters = scaling.is_null() ? Json{{"rope_type", "default"}} : scaling;
  parameters["rope_theta"] = config.rope_theta;
  json["rope_parameters"] = parameters;
  json["rope_scaling"] = scaling;
  json["rope_theta"] = config.rope_theta;
}

}  // namespace convoy::model
