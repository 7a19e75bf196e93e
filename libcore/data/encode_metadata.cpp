// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encode_metadata.h"

#include <fmt/format.h>

#include "libcore/base/json.h"
#include "libcore/base/version.h"
#include "libcore/data/index_format.h"

namespace convoy::data {
namespace {

constexpr int kFormatVersion = 1;

std::string tokenizer_json(const EncodeOrigin& origin) {
  const Tokenizer& tokenizer = origin.tokenizer;
  const TokenizerFacts& facts = tokenizer.facts();
  return JsonObject()
      .add("type", "sentencepiece-" + facts.kind)
      .add("path", origin.options.tokenizer.string())
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

std::string_view name_of(DocumentSeparator separator) {
  switch (separator) {
    case DocumentSeparator::kFile: return "file";
    case DocumentSeparator::kLine: return "line";
    case DocumentSeparator::kBlankLine: return "blank-line";
  }
  return "file";
}

std::string_view name_of(OnError policy) {
  switch (policy) {
    case OnError::kFail: return "fail";
    case OnError::kSkip: return "skip";
    case OnError::kQuarantine: return "quarantine";
  }
  return "fail";
}

std::string options_json(const EncodeOptions& options) {
  JsonObject splits;
  for (const Split& split : options.splits) splits.add(split.name, split.share);
  return JsonObject()
      .add("format", options.read.format)
      .add_raw("key", json_strings(options.keys))
      .add("document_separator", name_of(options.read.separator))
      .add("append_eos", options.append_eos)
      .add("prepend_bos", options.prepend_bos)
      .add("on_error", name_of(options.on_error))
      .add_raw("split", splits.text())
      .text();
}

std::string sources_json(const std::vector<InputFile>& files) {
  std::vector<std::string> objects;
  for (const InputFile& file : files) objects.push_back(JsonObject().add("path", file.name).add("bytes", file.bytes).text());
  return json_array(objects);
}

JsonObject& add_counts(JsonObject& json, const EncodeReport& report, std::int64_t documents, std::int64_t tokens) {
  return json.add("documents", documents)
      .add("tokens", tokens)
      .add("bytes_in", report.bytes_in)
      .add("bytes_text", report.bytes_text)
      .add("empty", report.empty)
      .add("bad_records", report.bad_records)
      .add("duplicates", 0)
      .add("invalid_utf8", report.invalid_utf8)
      .add("dtype", report.dtype)
      .add_raw("outputs", json_strings(report.outputs))
      .add("seconds", report.seconds)
      .add("mb_per_s", report.megabytes_per_second());
}

}  // namespace

std::string encode_metadata(const EncodeOrigin& origin, const DatasetWriter& writer, const PairSums& sums) {
  JsonObject json;
  json.add("format_version", kFormatVersion).add("created_by", fmt::format("convoy-preprocess {}", version()));
  add_counts(json, origin.report, writer.documents(), writer.tokens());
  json.add("vocab_size", origin.tokenizer.vocabulary()).add("max_id_seen", static_cast<int>(writer.largest_id()));
  if (origin.options.append_eos) {
    json.add("eos_id", static_cast<int>(origin.tokenizer.eos_id()));
  } else {
    json.add_raw("eos_id", "null");
  }
  json.add_raw("tokenizer", tokenizer_json(origin))
      .add_raw("options", options_json(origin.options))
      .add_raw("sources", sources_json(origin.files))
      .add("bin_bytes", sums.bin_bytes)
      .add("idx_bytes", sums.idx_bytes)
      .add("bin_xxh3_128", sums.bin_xxh3_128)
      .add("idx_xxh3_128", sums.idx_xxh3_128);
  return json.text() + "\n";
}

std::string EncodeReport::json() const {
  JsonObject json;
  return add_counts(json, *this, documents, tokens).text();
}

}  // namespace convoy::data
