// SPDX-License-Identifier: Apache-2.0
// Where the tables of a job file are read into.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/app/config_file.h"
#include "libcore/config/job_file.h"
#include "libcore/config/run_options.h"

namespace convoy::apps::train {

// Keys that are flags of another program, which has their defaults; what is not given is not passed on.
struct EncodeKeys {
  std::string format, separator, on_error, dtype, split, dedup;
  std::vector<std::string> keys;
  bool append_eos = false, prepend_bos = false, allow_lossy = false, split_special_tokens = false;
  std::optional<std::int64_t> max_errors, verify_encoder;
  std::int64_t dedup_memory = 0;
};
struct ExportKeys {
  std::string to, dtype, tokenizer;
  std::int64_t max_shard_size = 0;
};
struct ReportKeys {
  std::string steps;
  std::vector<std::string> fail_on;
  std::optional<double> peak_tflops;
};

struct JobKeys {
  config::SiteOptions site;
  config::PreprocessStage preprocess;
  EncodeKeys encode;
  config::MergeStage merge;
  config::TrainStage train;
  config::RunOptions run;
  config::ExportStage exports;
  ExportKeys export_flags;
  config::ReportStage report;
  ReportKeys report_flags;
};

std::vector<app::Option> encode_options(EncodeKeys& keys);
std::vector<app::Option> export_options(ExportKeys& keys);
std::vector<app::Option> report_options(ReportKeys& keys);

// The tables of a job file, in the order site, preprocess, merge, train, export, report.
std::vector<app::ConfigTable> job_tables(JobKeys& keys);

}  // namespace convoy::apps::train
