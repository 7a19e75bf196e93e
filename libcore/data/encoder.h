// SPDX-License-Identifier: Apache-2.0
// Text in, dataset pairs out: reads the inputs, tokenizes on many threads, writes in the inputs' order. The pair's bytes do
// not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "libcore/data/encode_options.h"
#include "libcore/data/encode_report.h"
#include "libcore/data/input_list.h"

namespace convoy::data {

struct EncodeHooks {
  std::function<void(std::int64_t consumed, std::int64_t total, std::int64_t tokens)> progress = {};
  std::function<void()> poll = {};  // throws to stop the run
};

// Nothing is committed unless all is well. ConfigError: options, missing inputs; DataError: bad records under kFail or beyond
// max_errors, broken inputs, no documents at all; EnvironmentError: what the file system refuses.
EncodeReport encode(const EncodeOptions& options, const EncodeHooks& hooks);

// DataError if there are no documents, or a split has none. `documents` of each split, in order; `what` was read.
void check_documents(const EncodeReport& report, const std::vector<Split>& splits, const std::vector<std::int64_t>& documents,
                     const std::string& what);

class EncodeOutput;
class Tokenizer;

// The run between an output's making and its completion: sends all of `files` through `tokenizer` to `output`.
void encode_files(const EncodeOptions& options, const Tokenizer& tokenizer, const std::vector<InputFile>& files,
                  const EncodeHooks& hooks, EncodeOutput& output);

}  // namespace convoy::data
