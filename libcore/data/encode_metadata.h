// SPDX-License-Identifier: Apache-2.0
// The text of PREFIX.meta.json: what the pair holds, how it was made, and what a reader checks. Format: docs/formats.md.
#pragma once

#include <string>
#include <vector>

#include "libcore/data/dataset_writer.h"
#include "libcore/data/encoder.h"
#include "libcore/data/tokenizer.h"

namespace convoy::data {

struct EncodeOrigin {
  const EncodeOptions& options;
  const EncodeReport& report;
  const Tokenizer& tokenizer;
  const std::vector<InputFile>& files;
};

std::string encode_metadata(const EncodeOrigin& origin, const DatasetWriter& writer, const PairSums& sums);

}  // namespace convoy::data
