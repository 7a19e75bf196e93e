// SPDX-License-Identifier: Apache-2.0
// plan.json: ShardPlan as text, and back.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/data/duplicates.h"
#include "libcore/data/json_fields.h"
#include "libcore/data/json_record.h"
#include "libcore/data/shard_plan.h"

namespace convoy::data {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "convoy-shard-plan";
// A reader of version 1 would encode a plan's shards without the keys of its duplicates, one of 2 would make control tokens of text.
constexpr std::int64_t kPlainVersion = 1, kDedupVersion = 2, kSplitSpecialVersion = 3;
constexpr std::string_view kBodyStart = "\"tokenizer\": ";

std::int64_t version_of(const EncodeOptions& options) {
  if (options.split_special_tokens) return kSplitSpecialVersion;
  return options.dedup == Dedup::kOff ? kPlainVersion : kDedupVersion;
}

std::string options_text(const EncodeOptions& options) {
  JsonObject json;
  json.add("format", options.read.format)
      .add_raw("key", json_strings(options.keys))
      .add("document_separator", name_of(options.read.separator))
      .add("append_eos", options.append_eos)
      .add("prepend_bos", options.prepend_bos)
      .add("on_error", name_of(options.on_error));
  if (options.max_errors) json.add("max_errors", *options.max_errors);
  json.add("dtype", options.dtype).add("split", split_text(options.splits)).add("allow_lossy", options.allow_lossy);
  if (options.dedup != Dedup::kOff) json.add("dedup", name_of(options.dedup));
  if (options.split_special_tokens) json.add("split_special_tokens", true);
  return json.text();
}

std::string input_text(const PlannedInput& input) {
  return JsonObject()
      .add("name", input.name)
      .add("path", input.path)
      .add("bytes", input.bytes)
      .add("modified_ns", input.modified_ns)
      .add("ends_xxh3_128", input.ends_xxh3_128)
      .text();
}

std::string shard_text(const Shard& shard) {
  std::string text = "[";
  for (const ShardPiece& piece : shard) {
    text += fmt::format("{}[{},{},{}]", text.size() > 1 ? "," : "", piece.input, piece.range.begin, piece.range.end);
  }
  return text + "]";
}

template <class Items, class Text>
std::string one_a_line(const Items& items, Text text) {
  std::string lines;
  for (const auto& item : items) lines += (lines.empty() ? "\n  " : ",\n  ") + text(item);
  return "[" + lines + "\n]";
}

// What decides the shards' bytes.
std::string body_text(const ShardPlan& plan) {
  const std::string tokenizer = JsonObject()
                                    .add("name", plan.options.tokenizer.string())
                                    .add("path", plan.tokenizer_path)
                                    .add("sha256", plan.tokenizer_sha256)
                                    .text();
  return fmt::format("{}{},\n\"options\": {},\n\"inputs\": {},\n\"shards\": {}\n}}\n", kBodyStart, tokenizer,
                     options_text(plan.options), one_a_line(plan.inputs, input_text), one_a_line(plan.shards, shard_text));
}

template <class Value>
Value known(const std::optional<Value>& value, const char* key, const std::string& text, const JsonFile& file) {
  if (!value) throw DataError(fmt::format("{}: \"{}\" is \"{}\", which this program does not know: {}", file.name, key, text, file.remedy));
  return *value;
}

std::string one_of(const Json& json, const char* key, std::initializer_list<const char*> values, const JsonFile& file) {
  const std::string text = text_field(json, key, file);
  const bool good = std::any_of(values.begin(), values.end(), [&text](const char* value) { return text == value; });
  return known(good ? std::optional(text) : std::nullopt, key, text, file);
}

// What a flag would refuse is corrupt here.
template <class Parse>
auto refusing_as_data(const char* key, const JsonFile& file, Parse parse) {
  try {
    return parse();
  } catch (const ConfigError& error) {
    throw DataError(fmt::format("{}: \"{}\": {}: {}", file.name, key, error.what(), file.remedy));
  }
}

std::vector<std::string> keys_of(const Json& json, const JsonFile& file) {
  std::vector<std::string> keys;
  for (const Json& key : array_field(json, "key", file)) {
    if (!key.is_string()) throw DataError(fmt::format("{}: \"key\" has a {}, expected strings: {}", file.name, key.type_name(), file.remedy));
    keys.push_back(key.get<std::string>());
  }
  refusing_as_data("key", file, [&keys] { return RecordParser(keys); });
  return keys;
}

EncodeOptions options_of(const Json& json, const JsonFile& file) {
  EncodeOptions options;
  options.read.format = one_of(json, "format", {"auto", "text", "jsonl"}, file);
  options.keys = keys_of(json, file);
  const std::string separator = text_field(json, "document_separator", file), policy = text_field(json, "on_error", file);
  options.read.separator = known(separator_named(separator), "document_separator", separator, file);
  options.append_eos = truth_field(json, "append_eos", file);
  options.prepend_bos = truth_field(json, "prepend_bos", file);
  options.on_error = known(on_error_named(policy), "on_error", policy, file);
  if (!is_null_field(json, "max_errors")) options.max_errors = count_field(json, "max_errors", file);
  options.dtype = one_of(json, "dtype", {"auto", "u16", "i32"}, file);
  const std::string splits = text_field(json, "split", file);
  if (!splits.empty()) options.splits = refusing_as_data("split", file, [&splits] { return parse_splits(splits); });
  options.allow_lossy = truth_field(json, "allow_lossy", file);
  if (!is_null_field(json, "dedup")) {
    const std::string dedup = text_field(json, "dedup", file);
    options.dedup = known(dedup_named(dedup), "dedup", dedup, file);
  }
  if (!is_null_field(json, "split_special_tokens")) options.split_special_tokens = truth_field(json, "split_special_tokens", file);
  return options;
}

std::string absolute_path(const Json& json, const JsonFile& file) {
  const std::string path = text_field(json, "path", file);
  if (!path.starts_with('/') || path.find('\0') != std::string::npos) {
    throw DataError(fmt::format("{}: \"path\" is {}, expected an absolute path: {}", file.name, json_quoted(path), file.remedy));
  }
  return path;
}

PlannedInput input_of(const Json& json, const JsonFile& file) {
  if (!json.is_object()) throw DataError(fmt::format("{}: \"inputs\" has a {}, expected objects: {}", file.name, json.type_name(), file.remedy));
  const std::string name = text_field(json, "name", file);
  if (name.empty() || name == "-") throw DataError(fmt::format("{}: \"name\" is \"{}\", expected a file: {}", file.name, name, file.remedy));
  return {.name = name,
          .path = absolute_path(json, file),
          .bytes = count_field(json, "bytes", file),
          .modified_ns = whole_field(json, "modified_ns", file),
          .ends_xxh3_128 = text_field(json, "ends_xxh3_128", file)};
}

Shard shard_of(const Json& json, const JsonFile& file) {
  const auto refuse = [&file](const Json& found) {
    throw DataError(fmt::format("{}: \"shards\" has {}, expected lists of [input, begin, end]: {}", file.name, found.dump().substr(0, 80),
                                file.remedy));
  };
  if (!json.is_array()) refuse(json);
  Shard shard;
  for (const Json& piece : json) {
    const bool good = piece.is_array() && piece.size() == 3 && piece[0].is_number_integer() && piece[1].is_number_integer() &&
                      piece[2].is_number_integer();
    if (!good) refuse(piece);
    shard.push_back({piece[0].get<std::int64_t>(), {piece[1].get<std::int64_t>(), piece[2].get<std::int64_t>()}});
  }
  return shard;
}

void check_version(const Json& json, const JsonFile& file) {
  const std::string format = text_field(json, "format", file);
  if (format != kFormat) throw DataError(fmt::format("{}: \"format\" is \"{}\", expected \"{}\": this is no plan of shards", file.name, format, kFormat));
  const std::int64_t version = count_field(json, "format_version", file);
  if (version < kPlainVersion || version > kSplitSpecialVersion) {
    throw DataError(fmt::format("{}: \"format_version\" is {}, this program reads {} to {}", file.name, version, kPlainVersion, kSplitSpecialVersion));
  }
}

void check_threads(const ShardPlan& plan, const JsonFile& file) {
  if (!plan.threads || (*plan.threads >= 1 && *plan.threads <= kMostThreads)) return;
  throw DataError(fmt::format("{}: \"threads\" is {}, expected 1 to {}: {}", file.name, *plan.threads, kMostThreads, file.remedy));
}

void check_memory(const ShardPlan& plan, const JsonFile& file) {
  if (plan.options.dedup_memory >= kLeastDedupMemory) return;
  throw DataError(fmt::format("{}: \"dedup_memory\" is {} bytes, expected {} at least: {}", file.name, plan.options.dedup_memory, kLeastDedupMemory,
                              file.remedy));
}

std::string number_or_null(std::optional<std::int64_t> number) { return number ? std::to_string(*number) : "null"; }

void check_counts(const ShardPlan& plan, const JsonFile& file) {
  const auto shards = static_cast<std::int64_t>(plan.shards.size());
  if (plan.inputs.empty()) throw DataError(fmt::format("{}: \"inputs\" is empty, expected one at least: {}", file.name, file.remedy));
  if (shards >= 1 && shards <= kMostShards) return;
  throw DataError(fmt::format("{}: \"shards\" has {} entries, expected 1 to {}: {}", file.name, shards, kMostShards, file.remedy));
}

}  // namespace

std::string plan_id(const ShardPlan& plan) { return xxh3_128_hex(body_text(plan)); }

std::string plan_text(const ShardPlan& plan) {
  const std::string memory =
      plan.options.dedup == Dedup::kOff ? "" : fmt::format(" \"dedup_memory\": {},", plan.options.dedup_memory);
  return fmt::format("{{\n\"format\": \"{}\", \"format_version\": {}, \"id\": \"{}\", \"threads\": {}, \"verify_encoder\": {},{}\n{}", kFormat,
                     version_of(plan.options), plan.id, number_or_null(plan.threads), number_or_null(plan.verify_every), memory, body_text(plan));
}

ShardPlan parse_plan(std::string_view text, std::string_view where) {
  const JsonFile file{std::string(where), "make the plan again with 'convoy-preprocess plan'"};
  const Json json = parse_object(text, file);
  check_version(json, file);
  ShardPlan plan;
  plan.id = text_field(json, "id", file);
  if (!is_null_field(json, "threads")) plan.threads = count_field(json, "threads", file);
  if (!is_null_field(json, "verify_encoder")) plan.verify_every = count_field(json, "verify_encoder", file);
  const Json& tokenizer = object_field(json, "tokenizer", file);
  plan.options = options_of(object_field(json, "options", file), file);
  if (!is_null_field(json, "dedup_memory")) plan.options.dedup_memory = count_field(json, "dedup_memory", file);
  plan.options.tokenizer = text_field(tokenizer, "name", file);
  plan.tokenizer_path = absolute_path(tokenizer, file);
  plan.tokenizer_sha256 = text_field(tokenizer, "sha256", file);
  for (const Json& input : array_field(json, "inputs", file)) plan.inputs.push_back(input_of(input, file));
  for (const Json& shard : array_field(json, "shards", file)) plan.shards.push_back(shard_of(shard, file));
  check_threads(plan, file);
  check_memory(plan, file);
  check_counts(plan, file);
  check_shards(plan.inputs, plan.shards, where);
  if (const std::string id = xxh3_128_hex(text.substr(std::min(text.find(kBodyStart), text.size()))); id != plan.id) {
    throw DataError(fmt::format("{}: \"id\" is {}, but the plan's content has {}: the file was changed or damaged; {}", where, plan.id, id,
                                file.remedy));
  }
  return plan;
}

}  // namespace convoy::data
