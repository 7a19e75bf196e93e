// SPDX-License-Identifier: Apache-2.0
// A checkpoint's weights, opened: which folder it is, what model it holds, and its tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/checkpoint/hf_folder.h"
#include "libcore/model/parameters.h"

namespace convoy::apps::ckpt {

struct Weights {
  Path folder;
  std::optional<std::int64_t> step;  // where the folder is a step directory
  model::Config config;
  std::vector<model::Parameter> table;
  std::unique_ptr<checkpoint::HfFolder> tensors;
};

// `path`: a run directory (its newest step), a step directory, or a Hugging Face folder.
Weights open_weights(const std::string& path);

}  // namespace convoy::apps::ckpt
