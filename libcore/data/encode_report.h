// SPDX-License-Identifier: Apache-2.0
// What a run of encode counted: the numbers of --json and of PREFIX.meta.json.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "libcore/base/json.h"
#include "libcore/data/encode_options.h"
#include "libcore/data/json_fields.h"

namespace convoy::data {

struct EncodeReport {
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  std::int64_t bytes_in = 0;    // decompressed
  std::int64_t bytes_text = 0;  // of the documents written, and of those without tokens
  std::int64_t empty = 0;
  std::int64_t bad_records = 0;
  std::int64_t duplicates = 0;    // documents that repeat an earlier one's text, under --dedup: left out by drop, there under report
  std::int64_t invalid_utf8 = 0;  // text documents with bytes that are no UTF-8 (each became U+FFFD)
  Dedup dedup = Dedup::kOff;      // what became of them; neither written nor read
  std::string dtype = {};
  std::vector<std::string> outputs = {};
  double seconds = 0.0;

  double megabytes_per_second() const;
  std::string json() const;
};

// Adds the counts and seconds of `part`, which went on where `total` ended. DataError beyond 64 bits, which no counting reaches.
void add_counts(const EncodeReport& part, EncodeReport& total);

// The keys of `report`, with the documents and tokens of one of its pairs.
JsonObject& write_counts(const EncodeReport& report, std::int64_t documents, std::int64_t tokens, JsonObject& json);

// The keys that write_counts() wrote, with the documents and tokens that it was told.
EncodeReport read_counts(const nlohmann::json& object, const JsonFile& file);

}  // namespace convoy::data
