// SPDX-License-Identifier: Apache-2.0
// The fields of our own JSON files, checked: what lacks or has another kind is a DataError that names file and key.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace convoy::data {

// Whose fields they are, and what to do about a wrong one ("write the dataset again").
struct JsonFile {
  std::string name;
  std::string remedy;
};

// An object; anything else is a file that is damaged.
nlohmann::json parse_object(std::string_view text, const JsonFile& file);

const nlohmann::json& object_field(const nlohmann::json& object, const char* key, const JsonFile& file);
const nlohmann::json& array_field(const nlohmann::json& object, const char* key, const JsonFile& file);
std::string text_field(const nlohmann::json& object, const char* key, const JsonFile& file);
bool truth_field(const nlohmann::json& object, const char* key, const JsonFile& file);
std::int64_t whole_field(const nlohmann::json& object, const char* key, const JsonFile& file);  // any whole number
std::int64_t count_field(const nlohmann::json& object, const char* key, const JsonFile& file);  // at least 0
double real_field(const nlohmann::json& object, const char* key, const JsonFile& file);
bool is_null_field(const nlohmann::json& object, const char* key);  // null or not there

}  // namespace convoy::data
