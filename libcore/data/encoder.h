// SPDX-License-Identifier: Apache-2.0
// Text in, dataset pairs out: reads the inputs, tokenizes on many threads, writes in the inputs' order. The pair's bytes do
// not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/data/record_reader.h"

namespace convoy::data {

enum class OnError : std::uint8_t { kFail, kSkip, kQuarantine };

// A share of the documents, by the XXH3 of their text, written to PREFIX.NAME.
struct Split {
  std::string name;
  double share = 0.0;
};

struct EncodeOptions {
  std::vector<std::string> inputs = {};
  ReadOptions read = {};
  std::vector<std::string> keys = {};
  Path tokenizer = {};
  Path out = {};
  bool append_eos = false;
  bool prepend_bos = false;
  int threads = 1;
  OnError on_error = OnError::kFail;
  std::optional<std::int64_t> max_errors = {};
  std::string dtype = "auto";  // auto, u16, i32
  std::vector<Split> splits = {};   // none: one pair, PREFIX
  bool allow_lossy = false;
};

// "train=0.99,valid=0.01": at least two names of letters, digits, - and _, each once; shares above 0 that sum to 1.
std::vector<Split> parse_splits(const std::string& text);

struct EncodeReport {
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  std::int64_t bytes_in = 0;    // decompressed
  std::int64_t bytes_text = 0;  // of the documents
  std::int64_t empty = 0;
  std::int64_t bad_records = 0;
  std::int64_t invalid_utf8 = 0;  // text documents with bytes that are no UTF-8 (each became U+FFFD)
  std::string dtype;
  std::vector<std::string> outputs;
  double seconds = 0.0;

  double megabytes_per_second() const;
  std::string json() const;
};

struct EncodeHooks {
  std::function<void(std::int64_t consumed, std::int64_t total, std::int64_t tokens)> progress = {};
  std::function<void()> poll = {};  // throws to stop the run
};

// Nothing is committed unless all is well. ConfigError: options, missing inputs; DataError: bad records under kFail or beyond
// max_errors, broken inputs, no documents at all; EnvironmentError: what the file system refuses.
EncodeReport encode(const EncodeOptions& options, const EncodeHooks& hooks);

}  // namespace convoy::data
