// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/encode_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "libcore/base/error.h"

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
  for (const auto count : {&EncodeReport::documents, &EncodeReport::tokens, &EncodeReport::bytes_in, &EncodeReport::bytes_text,
                           &EncodeReport::empty, &EncodeReport::bad_records, &EncodeReport::duplicates, &EncodeReport::invalid_utf8}) {
    const std::int64_t before = total.*count;
    if (__builtin_add_overflow(before, part.*count, &(total.*count))) {
      throw DataError(fmt::format("counts of the parts add up to more than 2^63: {} and {}, of which the larger is damaged; make that part again",
                                  before, part.*count));
    }
  }
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
