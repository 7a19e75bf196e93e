// SPDX-License-Identifier: Apache-2.0
// The commands of convoy-train. Each takes the struct that its options are parsed into, which must outlive the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libcore/app/run.h"
#include "libcore/config/run_options.h"

namespace convoy::apps::train {

struct ShowModelArguments {
  std::string model;
  std::string tie_embeddings = "auto";
  std::optional<std::int64_t> sequence_length;
  int tensor_parallel = 1, pipeline_parallel = 1;
};

struct SampleArguments {
  std::string checkpoint;
  std::string tokenizer;
  std::string prompt;
  std::int64_t max_tokens = 200;
  double temperature = 0.8;
  std::int64_t top_k = 50;
  std::int64_t seed = 1;
  std::string precision = "fp32";
  std::optional<std::int64_t> threads;
};

struct JobArguments {
  std::string file;
  std::string stage;
};

app::Command run_command(config::RunOptions& options);
app::Command check_layout_command(config::RunOptions& options);
app::Command show_model_command(ShowModelArguments& arguments);
app::Command sample_command(SampleArguments& arguments);
app::Command job_command(JobArguments& arguments);

// The options of `run`, by group.
std::vector<app::Option> run_options(config::RunOptions& options);

std::vector<std::pair<std::string, std::string>> libraries();

}  // namespace convoy::apps::train
