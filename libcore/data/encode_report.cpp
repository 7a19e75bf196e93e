// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encode_report.h"

#include <nlohmann/json.hpp>

namespace convoy::data {

double EncodeReport::megabytes_per_second() const {
  constexpr double kMega = 1e6;
  return seconds > 0 ? static_cast<double>(bytes_in) / kMega / seconds : 0.0;
}

std::string EncodeReport::json() const {
  JsonObject json;
  return write_counts(*this, documents, tokens, json).text();
}

void add_counts(const EncodeReport& part, EncodeReport& total) {
  total.documents += part.documents;
  total.tokens += part.tokens;
  total.bytes_in += part.bytes_in;
  total.bytes_text += part.bytes_text;
  total.empty += part.empty;
  total.bad_records += part.bad_records;
  total.duplicates += part.duplicates;
  total.invalid_utf8 += part.invalid_utf8;
  total.seconds += part.seconds;
}

JsonObject& write_counts(const EncodeReport& report, std::int64_t documents, std::int64_t tokens, JsonObject& json) {
  return json.add("documents", documents)
      .add("tokens", tokens)
      .add("bytes_in", report.bytes_in)
      .add("bytes_text", report.bytes_text)
      .add("empty", report.empty)
      .add("bad_records", report.bad_records)
      .add("duplicates", report.duplicates)
      .add("invalid_utf8", report.invalid_utf8)
      .add("dtype", report.dtype)
      .add_raw("outputs", json_strings(report.outputs))
      .add("seconds", report.seconds)
      .add("mb_per_s", report.megabytes_per_second());
}

EncodeReport read_counts(const nlohmann::json& json, const JsonFile& file) {
  EncodeReport report{.documents = count_field(json, "documents", file),
                      .tokens = count_field(json, "tokens", file),
                      .bytes_in = count_field(json, "bytes_in", file),
                      .bytes_text = count_field(json, "bytes_text", file),
                      .empty = count_field(json, "empty", file),
                      .bad_records = count_field(json, "bad_records", file),
                      .duplicates = count_field(json, "duplicates", file),
                      .invalid_utf8 = count_field(json, "invalid_utf8", file),
                      .dtype = text_field(json, "dtype", file),
                      .seconds = real_field(json, "seconds", file)};
  for (const nlohmann::json& output : array_field(json, "outputs", file)) {
    if (output.is_string()) report.outputs.push_back(output.get<std::string>());
  }
  return report;
}

}  // namespace convoy::data
