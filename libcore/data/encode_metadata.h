// SPDX-License-Identifier: Apache-2.0
// The text of PREFIX.meta.json: what the pair holds, how it was made, and what a reader checks. Format: docs/formats.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/data/dataset_writer.h"
#include "libcore/data/encode_options.h"
#include "libcore/data/encode_report.h"
#include "libcore/data/tokenizer.h"

namespace convoy::data {

struct PairMetadata {
  EncodeReport report = {};  // of the whole run, which may have written other pairs too
  std::int64_t documents = 0, tokens = 0;  // of this pair
  std::optional<std::int64_t> text_bytes = {};  // of this pair's documents; older metadata do not say
  std::int64_t vocabulary = 0;
  std::int64_t largest_id = 0;
  std::optional<std::int64_t> eos_id = {};  // if it ends every document
  std::string tokenizer = {}, options = {}, sources = {};  // JSON objects, and an array of them
  std::string plan = {};  // JSON of the shard that the pair is; empty if it is none
};

std::string metadata_text(const PairMetadata& metadata, const PairSums& sums);

// What metadata_text() wrote, the sums left out. DataError naming `where` and the field.
PairMetadata parse_metadata(std::string_view text, std::string_view where);

std::string tokenizer_json(const Path& path, const Tokenizer& tokenizer);
// A range of a file says where it begins.
std::string sources_json(const std::vector<InputFile>& files);

}  // namespace convoy::data
