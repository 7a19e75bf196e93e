// SPDX-License-Identifier: Apache-2.0
// The commands of convoy-preprocess, one a file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libcore/app/run.h"
#include "libcore/data/encode_options.h"
#include "libcore/data/encode_report.h"

namespace convoy::apps::preprocess {

app::Command train_tokenizer_command();
app::Command encode_command();
app::Command plan_command();
app::Command status_command();
app::Command merge_command();
app::Command info_command();
app::Command verify_command();
app::Command cat_command();

// How inputs are read: the options that encode and train-tokenizer share.
struct InputFlags {
  std::vector<std::string> inputs;
  std::string format = "auto";
  std::string separator = "file";
  std::vector<std::string> keys;

  std::vector<app::Option> options();
  data::ReadOptions read() const;
  std::vector<std::string> keys_or_default() const;  // "text" if none is given
};

// What decides a dataset's bytes: the options that encode and plan share. `given` gets the names of those that were set.
struct EncodeFlags {
  InputFlags input;
  std::string tokenizer, on_error = "fail", dtype = "auto", split, dedup = "off";
  bool append_eos = false, prepend_bos = false, allow_lossy = false, split_special_tokens = false;
  std::optional<std::int64_t> max_errors;
  std::int64_t dedup_memory = data::kUsualDedupMemory;
  std::vector<std::string> given;

  std::vector<app::Option> options();
  data::EncodeOptions encode_options() const;  // but out and threads
};

std::string verify_encoder_help();

// `option` with a further check of its text: what `parse` throws is the problem.
app::Option checked(app::Option option, std::function<void(const std::string&)> parse);

void tell_duplicates(const data::EncodeReport& report);  // to the log, if there are any

int default_threads();  // processors that this process may use

}  // namespace convoy::apps::preprocess
