// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encode_metadata.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "libcore/base/json.h"
#include "libcore/base/version.h"
#include "libcore/data/json_fields.h"

namespace convoy::data {
namespace {

constexpr int kFormatVersion = 1;

}  // namespace

std::string tokenizer_json(const Path& path, const Tokenizer& tokenizer) {
  const TokenizerFacts& facts = tokenizer.facts();
  return JsonObject()
      .add("type", facts.kind)
      .add("path", path.string())
      .add("sha256", tokenizer.sha256())
      .add("normalizer", facts.normalizer)
      .add("add_dummy_prefix", facts.add_dummy_prefix)
      .add("bos_id", tokenizer.bos_id())
      .add("eos_id", tokenizer.eos_id())
      .add("unk_id", facts.unk_id)
      .add("pad_id", facts.pad_id)
      .add("lossless", tokenizer.lossy_reason().empty())
      .text();
}

std::string sources_json(const std::vector<InputFile>& files) {
  std::vector<std::string> objects;
  for (const InputFile& file : files) {
    JsonObject source;
    source.add("path", file.name).add("bytes", file.bytes_to_read());
    if (file.range) source.add("from_byte", file.range->begin);
    objects.push_back(source.text());
  }
  return json_array(objects);
}

PairMetadata parse_metadata(std::string_view text, std::string_view where) {
  const JsonFile file{std::string(where), "write the dataset again"};
  const nlohmann::json json = parse_object(text, file);
  PairMetadata metadata{.report = read_counts(json, file),
                        .documents = count_field(json, "documents", file),
                        .tokens = count_field(json, "tokens", file),
                        .text_bytes = {},
                        .vocabulary = count_field(json, "vocab_size", file),
                        .largest_id = count_field(json, "max_id_seen", file)};
  if (!is_null_field(json, "text_bytes")) metadata.text_bytes = count_field(json, "text_bytes", file);
  if (!is_null_field(json, "plan")) metadata.plan = object_field(json, "plan", file).dump();
  if (!is_null_field(json, "eos_id")) metadata.eos_id = count_field(json, "eos_id", file);
  object_field(json, "tokenizer", file);
  object_field(json, "options", file);
  array_field(json, "sources", file);
  const auto ordered = nlohmann::ordered_json::parse(text);  // the keys of objects in their order, as they were written
  metadata.tokenizer = ordered["tokenizer"].dump();
  metadata.options = ordered["options"].dump();
  metadata.sources = ordered["sources"].dump();
  return metadata;
}

std::string metadata_text(const PairMetadata& metadata, const PairSums& sums) {
  JsonObject json;
  json.add("format_version", kFormatVersion).add("created_by", fmt::format("convoy-preprocess {}", version()));
  write_counts(metadata.report, metadata.documents, metadata.tokens, json);
  if (metadata.text_bytes) json.add("text_bytes", *metadata.text_bytes);
  json.add("vocab_size", metadata.vocabulary).add("max_id_seen", metadata.largest_id);
  if (metadata.eos_id) {
    json.add("eos_id", *metadata.eos_id);
  } else {
    json.add_raw("eos_id", "null");
  }
  json.add_raw("tokenizer", metadata.tokenizer).add_raw("options", metadata.options).add_raw("sources", metadata.sources);
  if (!metadata.plan.empty()) json.add_raw("plan", metadata.plan);
  json.add("bin_bytes", sums.bin_bytes)
      .add("idx_bytes", sums.idx_bytes)
      .add("bin_xxh3_128", sums.bin_xxh3_128)
      .add("idx_xxh3_128", sums.idx_xxh3_128);
  return json.text() + "\n";
}

}  // namespace convoy::data
