// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "libcore/base/error.h"
#include "libcore/data/indexed_dataset.h"
#include "libcore/data/json_fields.h"

namespace convoy::data {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kFormatVersion = 1;

Path with_suffix(const Path& prefix, const char* suffix) {
  Path path = prefix;
  path += suffix;
  return path;
}

std::optional<std::int32_t> eos_of(const Json& json, const JsonFile& file) {
  const auto found = json.find("eos_id");
  if (found == json.end() || found->is_null()) return std::nullopt;
  const std::int64_t id = count_field(json, "eos_id", file), vocabulary = count_field(json, "vocab_size", file);
  if (id >= vocabulary) {
    throw DataError(fmt::format("{}: \"eos_id\" is {}, beyond \"vocab_size\" {}: {}", file.name, id, vocabulary, file.remedy));
  }
  return static_cast<std::int32_t>(id);
}

}  // namespace

Path bin_path(const Path& prefix) { return with_suffix(prefix, ".bin"); }
Path idx_path(const Path& prefix) { return with_suffix(prefix, ".idx"); }
Path meta_path(const Path& prefix) { return with_suffix(prefix, ".meta.json"); }

DatasetMeta read_meta(const Path& prefix) {
  const JsonFile file{meta_path(prefix).string(), "write the dataset again"};
  const Json json = parse_object(read_file(file.name, "dataset metadata"), file);
  const std::int64_t version = count_field(json, "format_version", file);
  if (version != kFormatVersion) {
    throw DataError(fmt::format("{}: \"format_version\" is {}, this program reads {}", file.name, version,
                                kFormatVersion));
  }
  DatasetMeta meta;
  meta.vocabulary = count_field(json, "vocab_size", file);
  meta.tokenizer_sha256 = text_field(object_field(json, "tokenizer", file), "sha256", file);
  meta.eos_id = eos_of(json, file);
  meta.documents = count_field(json, "documents", file);
  meta.tokens = count_field(json, "tokens", file);
  if (!is_null_field(json, "text_bytes")) meta.text_bytes = count_field(json, "text_bytes", file);
  meta.token_type = text_field(json, "dtype", file);
  meta.bin_bytes = count_field(json, "bin_bytes", file);
  meta.idx_bytes = count_field(json, "idx_bytes", file);
  meta.bin_xxh3_128 = text_field(json, "bin_xxh3_128", file);
  meta.idx_xxh3_128 = text_field(json, "idx_xxh3_128", file);
  return meta;
}

}  // namespace convoy::data
