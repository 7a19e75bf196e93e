// SPDX-License-Identifier: Apache-2.0
// The rotary embedding's keys in config.json: rope_parameters (transformers 5), rope_theta and rope_scaling (before).
// Private to the module.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "libcore/model/config.h"
#include "libcore/model/config_reader.h"

namespace convoy::model {

struct Rope {
  double theta = 10000.0;
  std::optional<RopeScaling> scaling;
};

// A file that has keys of both generations must agree with itself.
Rope read_rope(ConfigReader& reader);
// Writes those of both.
void write_rope(Json& json, const Config& config);

}  // namespace convoy::model
