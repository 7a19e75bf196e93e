// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "libcore/base/error.h"
#include "libcore/data/indexed_dataset.h"

namespace convoy::data {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kFormatVersion = 1;

Path with_suffix(const Path& prefix, const char* suffix) {
  Path path = prefix;
  path += suffix;
  return path;
}

const Json& member(const Json& object, const char* key, Json::value_t kind, const Path& path) {
  const auto found = object.find(key);
  const bool number = kind == Json::value_t::number_integer;
  if (found == object.end() || !(number ? found->is_number_integer() : found->type() == kind)) {
    throw DataError(fmt::format("{}: \"{}\" is {}, expected a {}: write the dataset again", path.string(), key,
                                found == object.end() ? "missing" : found->type_name(),
                                number ? "whole number" : Json(kind).type_name()));
  }
  return *found;
}

std::int64_t number(const Json& object, const char* key, const Path& path) {
  const auto value = member(object, key, Json::value_t::number_integer, path).get<std::int64_t>();
  if (value < 0) throw DataError(fmt::format("{}: \"{}\" is {}, expected at least 0", path.string(), key, value));
  return value;
}

std::string text(const Json& object, const char* key, const Path& path) {
  return member(object, key, Json::value_t::string, path).get<std::string>();
}

Json parse(const Path& path) {
  Json json = Json::parse(read_file(path, "dataset metadata"), nullptr, false);
  if (!json.is_object()) {
    throw DataError(fmt::format("{}: not a JSON object: the file is damaged, write the dataset again", path.string()));
  }
  return json;
}

std::optional<std::int32_t> eos_of(const Json& json, const Path& path) {
  const auto found = json.find("eos_id");
  if (found == json.end() || found->is_null()) return std::nullopt;
  const std::int64_t id = number(json, "eos_id", path), vocabulary = number(json, "vocab_size", path);
  if (id >= vocabulary) {
    throw DataError(fmt::format("{}: \"eos_id\" is {}, beyond \"vocab_size\" {}: write the dataset again", path.string(), id,
                                vocabulary));
  }
  return static_cast<std::int32_t>(id);
}

}  // namespace

Path bin_path(const Path& prefix) { return with_suffix(prefix, ".bin"); }
Path idx_path(const Path& prefix) { return with_suffix(prefix, ".idx"); }
Path meta_path(const Path& prefix) { return with_suffix(prefix, ".meta.json"); }

DatasetMeta read_meta(const Path& prefix) {
  const Path path = meta_path(prefix);
  const Json json = parse(path);
  const std::int64_t version = number(json, "format_version", path);
  if (version != kFormatVersion) {
    throw DataError(fmt::format("{}: \"format_version\" is {}, this program reads {}", path.string(), version,
                                kFormatVersion));
  }
  DatasetMeta meta;
  meta.vocabulary = number(json, "vocab_size", path);
  meta.tokenizer_sha256 = text(member(json, "tokenizer", Json::value_t::object, path), "sha256", path);
  meta.eos_id = eos_of(json, path);
  meta.documents = number(json, "documents", path);
  meta.tokens = number(json, "tokens", path);
  meta.token_type = text(json, "dtype", path);
  meta.bin_bytes = number(json, "bin_bytes", path);
  meta.idx_bytes = number(json, "idx_bytes", path);
  meta.bin_xxh3_128 = text(json, "bin_xxh3_128", path);
  meta.idx_xxh3_128 = text(json, "idx_xxh3_128", path);
  return meta;
}

}  // namespace convoy::data
