// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/shard_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/data/encode_metadata.h"
#include "libcore/data/encode_output.h"
#include "libcore/data/indexed_dataset.h"
#include "libcore/data/json_fields.h"
#include "libcore/data/text_key.h"

namespace convoy::data {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kFormatVersion = 1;

std::string pair_text(const WrittenPair& pair) {
  JsonObject json;
  json.add("split", static_cast<std::int64_t>(pair.split))
      .add("documents", pair.documents)
      .add("tokens", pair.tokens)
      .add("bin_bytes", pair.sums.bin_bytes)
      .add("idx_bytes", pair.sums.idx_bytes)
      .add("bin_xxh3_128", pair.sums.bin_xxh3_128)
      .add("idx_xxh3_128", pair.sums.idx_xxh3_128);
  if (!pair.hashes_xxh3_128.empty()) json.add("hashes_xxh3_128", pair.hashes_xxh3_128);
  return json.text();
}

WrittenPair pair_of(const Json& json, const JsonFile& file) {
  if (!json.is_object()) throw DataError(fmt::format("{}: \"pairs\" has a {}, expected objects: {}", file.name, json.type_name(), file.remedy));
  return {.split = static_cast<std::size_t>(count_field(json, "split", file)),
          .documents = count_field(json, "documents", file),
          .tokens = count_field(json, "tokens", file),
          .sums = {.bin_bytes = count_field(json, "bin_bytes", file),
                   .idx_bytes = count_field(json, "idx_bytes", file),
                   .bin_xxh3_128 = text_field(json, "bin_xxh3_128", file),
                   .idx_xxh3_128 = text_field(json, "idx_xxh3_128", file)},
          .hashes_xxh3_128 = is_null_field(json, "hashes_xxh3_128") ? std::string() : text_field(json, "hashes_xxh3_128", file)};
}

void expect_size(const Path& path, std::int64_t bytes) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw DataError(fmt::format("{}: {}", path.string(), error.message()));
  if (static_cast<std::int64_t>(size) != bytes) throw DataError(fmt::format("{} has {} bytes, expected {}", path.string(), size, bytes));
}

// A record and the metadata of its pairs were written from the same counts.
void check_counts(const Path& prefix, const WrittenPair& pair, const EncodeReport& report) {
  const std::string path = meta_path(prefix).string();
  const PairMetadata written = parse_metadata(read_file(path, "dataset metadata"), path);
  const auto expect = [&path](const char* what, std::int64_t in_metadata, std::int64_t in_record) {
    if (in_metadata != in_record) throw DataError(fmt::format("{} has {} {}, the shard's record {}", path, what, in_metadata, in_record));
  };
  expect("documents", written.documents, pair.documents);
  expect("tokens", written.tokens, pair.tokens);
  expect("bytes_in", written.report.bytes_in, report.bytes_in);
  expect("bytes_text", written.report.bytes_text, report.bytes_text);
  expect("empty", written.report.empty, report.empty);
  expect("bad_records", written.report.bad_records, report.bad_records);
  expect("duplicates", written.report.duplicates, report.duplicates);
  expect("invalid_utf8", written.report.invalid_utf8, report.invalid_utf8);
}

void check_pair(const Path& prefix, const WrittenPair& pair, const EncodeReport& report) {
  expect_size(bin_path(prefix), pair.sums.bin_bytes);
  expect_size(idx_path(prefix), pair.sums.idx_bytes);
  if (!std::filesystem::exists(meta_path(prefix))) throw DataError(fmt::format("{} is missing", meta_path(prefix).string()));
  const DatasetMeta meta = read_meta(prefix);
  if (meta.bin_xxh3_128 != pair.sums.bin_xxh3_128 || meta.idx_xxh3_128 != pair.sums.idx_xxh3_128)
    throw DataError(fmt::format("{} has other checksums than the shard's record", meta_path(prefix).string()));
  check_counts(prefix, pair, report);
}

// The counts of a record among each other; every line has a byte at least.
void check_sums(const std::string& path, const ShardRecord& record) {
  std::int64_t documents = 0, tokens = 0;
  for (const WrittenPair& pair : record.pairs) {
    if (pair.documents > pair.sums.idx_bytes || pair.tokens > pair.sums.bin_bytes)
      throw DataError(fmt::format("{} has {} documents and {} tokens in files of {} and {} bytes", path, pair.documents, pair.tokens,
                                  pair.sums.idx_bytes, pair.sums.bin_bytes));
    documents += pair.documents;
    tokens += pair.tokens;
  }
  const auto expect = [&path](const char* what, std::int64_t in_pairs, std::int64_t in_all) {
    if (in_pairs != in_all) throw DataError(fmt::format("{} has {} {} in its pairs and {} in all", path, what, in_pairs, in_all));
  };
  expect("documents", documents, record.report.documents);
  expect("tokens", tokens, record.report.tokens);
  for (const std::int64_t lines : record.lines) {
    if (lines < 0 || lines > record.report.bytes_in)
      throw DataError(fmt::format("{} has {} lines in {} bytes", path, lines, record.report.bytes_in));
  }
}

void check_shard(const ShardPlan& plan, const Path& prefix, std::int64_t shard, const ShardRecord& record) {
  if (record.plan != plan.id) {
    throw DataError(fmt::format("{} was made by another plan, {}; this one is {}", prefix.string(), record.plan, plan.id));
  }
  if (record.shard != shard) throw DataError(fmt::format("{} is of shard {}, expected {}", record_path(prefix).string(), record.shard, shard));
  if (record.lines.size() != plan.shards[static_cast<std::size_t>(shard)].size()) {
    throw DataError(fmt::format("{} counts the lines of {} pieces, expected {}", record_path(prefix).string(), record.lines.size(),
                                plan.shards[static_cast<std::size_t>(shard)].size()));
  }
  const std::vector<Path> prefixes = pair_prefixes(prefix, plan.options.splits);
  for (const WrittenPair& pair : record.pairs) {
    if (pair.split >= prefixes.size()) throw DataError(fmt::format("{} has a pair of split {}", record_path(prefix).string(), pair.split));
    check_pair(prefixes[pair.split], pair, record.report);
    if (plan.options.dedup == Dedup::kOff) continue;
    expect_size(hashes_path(prefixes[pair.split]), pair.documents * static_cast<std::int64_t>(sizeof(TextKey)));
  }
  check_sums(record_path(prefix).string(), record);
  if (plan.options.on_error == OnError::kQuarantine) expect_size(quarantine_path(prefix), record.quarantine_bytes);
}

}  // namespace

std::string record_text(const ShardRecord& record) {
  std::vector<std::string> pairs, lines;
  for (const WrittenPair& pair : record.pairs) pairs.push_back(pair_text(pair));
  for (const std::int64_t count : record.lines) lines.push_back(std::to_string(count));
  JsonObject json;
  json.add("format_version", kFormatVersion).add("plan", record.plan).add("shard", record.shard);
  write_counts(record.report, record.report.documents, record.report.tokens, json);
  return json.add_raw("pairs", json_array(pairs))
             .add_raw("lines", json_array(lines))
             .add("quarantine_bytes", record.quarantine_bytes)
             .text() +
         "\n";
}

ShardRecord parse_record(std::string_view text, std::string_view where) {
  const JsonFile file{std::string(where), "encode the shard again"};
  const Json json = parse_object(text, file);
  if (const std::int64_t version = count_field(json, "format_version", file); version != kFormatVersion) {
    throw DataError(fmt::format("{}: \"format_version\" is {}, this program reads {}", where, version, kFormatVersion));
  }
  ShardRecord record{.plan = text_field(json, "plan", file), .shard = count_field(json, "shard", file), .report = read_counts(json, file)};
  for (const Json& pair : array_field(json, "pairs", file)) record.pairs.push_back(pair_of(pair, file));
  for (const Json& lines : array_field(json, "lines", file)) {
    record.lines.push_back(lines.is_number_integer() ? lines.get<std::int64_t>() : -1);
  }
  record.quarantine_bytes = count_field(json, "quarantine_bytes", file);
  return record;
}

Path shard_prefix(const Path& plan_file, std::int64_t shard) { return plan_file.parent_path() / fmt::format("shard-{:05}", shard); }

Path record_path(const Path& prefix) { return prefix.string() + ".json"; }

ShardState look_at_shard(const ShardPlan& plan, const Path& plan_file, std::int64_t shard) {
  const Path prefix = shard_prefix(plan_file, shard), path = record_path(prefix);
  if (!std::filesystem::exists(path)) return {};
  try {
    ShardRecord record = parse_record(read_file(path, "record of a shard"), path.string());
    check_shard(plan, prefix, shard, record);
    return {std::move(record), ""};
  } catch (const DataError& error) {
    return {std::nullopt, error.what()};
  } catch (const ConfigError& error) {  // a file that went while we looked
    return {std::nullopt, error.what()};
  }
}

std::vector<MissingShard> missing_shards(const ShardPlan& plan, const Path& plan_file) {
  std::vector<MissingShard> missing;
  for (std::int64_t shard = 0; shard < static_cast<std::int64_t>(plan.shards.size()); ++shard) {
    const ShardState state = look_at_shard(plan, plan_file, shard);
    if (!state.complete()) missing.push_back({shard, state.flaw});
  }
  return missing;
}

std::string array_spec(const std::vector<MissingShard>& missing) {
  std::vector<std::int64_t> numbers;
  for (const MissingShard& shard : missing) numbers.push_back(shard.shard);
  return array_spec(numbers);
}

}  // namespace convoy::data
