// SPDX-License-Identifier: Apache-2.0
// A checkpoint of a model, with weights and both moments of made-up values, as one rank would write it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace convoy::support {

struct MadeCheckpoint {
  std::int64_t step = 7;
  // Element `index` of `state` of `name` gets another value, so that two checkpoints differ in it alone.
  std::string changed_name = {}, changed_state = {};
  std::int64_t changed_index = 0;
};

// Commits `folder`, whose parents are created. `config_json`: config.json's text.
void make_checkpoint(const std::filesystem::path& folder, const std::string& config_json,
                     const MadeCheckpoint& made = {});

// The value of an element that was not changed; 0.125 less than that of one that was.
float made_value(const std::string& name, const std::string& state, std::int64_t index);

}  // namespace convoy::support
