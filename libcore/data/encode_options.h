// SPDX-License-Identifier: Apache-2.0
// What decides which bytes a dataset gets, and the names of it in metadata and plans.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/data/record_reader.h"

namespace convoy::data {

enum class OnError : std::uint8_t { kFail, kSkip, kQuarantine };

// Of documents with the same text: kReport counts all but the first, kDrop leaves them out, too.
enum class Dedup : std::uint8_t { kOff, kReport, kDrop };

// A share of the documents, by the XXH3 of their text, written to PREFIX.NAME.
struct Split {
  std::string name;
  double share = 0.0;
  bool operator==(const Split&) const = default;
};

constexpr std::int64_t kUsualDedupMemory = std::int64_t{256} << 20;
constexpr std::int64_t kMostThreads = 1024;
constexpr std::int64_t kVerifyEvery = 10'000;  // costs below a hundredth of the time

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
  bool split_special_tokens = false;  // names of control tokens in text stay text (tokenizer.h)
  Dedup dedup = Dedup::kOff;
  std::int64_t dedup_memory = kUsualDedupMemory;  // bytes; see duplicates.h. Decides no byte of the output
  std::int64_t verify_every = kVerifyEvery;  // one of so many documents is encoded by the library, too; 0: none
};

// "train=0.99,valid=0.01": at least two names of letters, digits, - and _, each once; shares above 0 that sum to 1.
std::vector<Split> parse_splits(const std::string& text);
std::string split_text(const std::vector<Split>& splits);  // what parse_splits reads back to the same bits; empty for none

// The flags' values: "fail", "skip", "quarantine"; "file", "line", "blank-line"; "off", "report",
// "drop".
std::string_view name_of(OnError policy);
std::string_view name_of(DocumentSeparator separator);
std::string_view name_of(Dedup dedup);
std::optional<OnError> on_error_named(std::string_view name);
std::optional<DocumentSeparator> separator_named(std::string_view name);
std::optional<Dedup> dedup_named(std::string_view name);

// What a user asked for, in the flags' words; empty: left out.
struct AskedOptions {
  std::string_view format = {}, separator = {}, on_error = {}, dedup = {};
  std::vector<std::string> keys = {};
  bool max_errors = false, dedup_memory = false;
};

// What has no effect beside the rest, each behind its flag: refused wherever it is asked for, on a command line or in a job file.
std::vector<std::string> idle_options(const AskedOptions& asked);

// The options that decide the documents and their ids, as the object "options" of PREFIX.meta.json.
std::string options_json(const EncodeOptions& options);

// The prefixes of the pairs that `options` make: PREFIX, or PREFIX.NAME for each split.
std::vector<Path> pair_prefixes(const Path& out, const std::vector<Split>& splits);

}  // namespace convoy::data
