// SPDX-License-Identifier: Apache-2.0
// The parts of a tokenizer.json around its model (tokenizer_json.h). What they hold that is not supported is added to `problems`.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/data/pre_tokenizer.h"

namespace convoy::data {

using Problems = std::vector<std::string>;

// A problem for each key of `object` that is none of `known`; `where` it stands ("model", or empty for the file).
void expect_keys(const nlohmann::json& object, std::string_view where, std::initializer_list<std::string_view> known, Problems& problems);
// The value of a key, null if it is not there.
const nlohmann::json& part_of(const nlohmann::json& object, const char* key);
// `otherwise` if the key is not there or null; a problem, too, if it is something else.
std::string text_or(const nlohmann::json& object, const char* key, std::string_view otherwise, Problems& problems);
bool truth_or(const nlohmann::json& object, const char* key, bool otherwise, Problems& problems);

bool read_normalizer(const nlohmann::json& part, Problems& problems);  // whether it is NFC
void read_pre_tokenizer(const nlohmann::json& part, std::vector<SplitStep>& steps, ByteLevelStep& byte_level, Problems& problems);
void check_decoder(const nlohmann::json& part, Problems& problems);

}  // namespace convoy::data
