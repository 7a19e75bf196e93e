// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/json_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const Json& object, const char* key, std::string_view expected, const JsonFile& file) {
  const auto found = object.find(key);
  throw DataError(fmt::format("{}: \"{}\" is {}, expected a {}: {}", file.name, key,
                              found == object.end() ? "missing" : found->type_name(), expected, file.remedy));
}

const Json& member(const Json& object, const char* key, Json::value_t kind, const JsonFile& file) {
  const auto found = object.find(key);
  if (found == object.end() || found->type() != kind) refuse(object, key, Json(kind).type_name(), file);
  return *found;
}

}  // namespace

Json parse_object(std::string_view text, const JsonFile& file) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw DataError(fmt::format("{}: not a JSON object: the file is damaged, {}", file.name, file.remedy));
  return json;
}

const Json& object_field(const Json& object, const char* key, const JsonFile& file) {
  return member(object, key, Json::value_t::object, file);
}

const Json& array_field(const Json& object, const char* key, const JsonFile& file) {
  return member(object, key, Json::value_t::array, file);
}

std::string text_field(const Json& object, const char* key, const JsonFile& file) {
  return member(object, key, Json::value_t::string, file).get<std::string>();
}

bool truth_field(const Json& object, const char* key, const JsonFile& file) {
  return member(object, key, Json::value_t::boolean, file).get<bool>();
}

std::int64_t whole_field(const Json& object, const char* key, const JsonFile& file) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) refuse(object, key, "whole number", file);
  return found->get<std::int64_t>();
}

std::int64_t count_field(const Json& object, const char* key, const JsonFile& file) {
  const std::int64_t value = whole_field(object, key, file);
  if (value < 0) throw DataError(fmt::format("{}: \"{}\" is {}, expected at least 0", file.name, key, value));
  return value;
}

double real_field(const Json& object, const char* key, const JsonFile& file) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) refuse(object, key, "number", file);
  return found->get<double>();
}

bool is_null_field(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null();
}

}  // namespace convoy::data
