// SPDX-License-Identifier: Apache-2.0
// Weights as a Hugging Face folder's files, tensor by tensor: memory stays small, whatever the model's size.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libcore/checkpoint/weight_source.h"

namespace convoy::checkpoint {

struct HfExportOptions {
  std::optional<tensor::DType> dtype;      // fp32, bf16 or fp16, rounded to nearest even; none: as stored
  std::uint64_t shard_bytes = UINT64_MAX;  // of tensors in a file at most, but for one that is larger alone
  std::string config_json;
};

struct HfExportReport {
  std::vector<std::string> files;  // with weights
  std::uint64_t bytes = 0;         // of tensors
};

// Writes config.json, generation_config.json and model.safetensors into `folder`, which exists (use AtomicDirectory to
// commit it), or model-00001-of-0000N.safetensors and so on with their index, as transformers does where one file would
// be larger than a shard. `tensors`: what `weights` was held against. `progress` is told the bytes written so far.
HfExportReport export_hf_folder(const Path& folder, const WeightSource& weights,
                                const std::vector<ExpectedTensor>& tensors, const HfExportOptions& options,
                                const std::function<void(std::uint64_t)>& progress);

}  // namespace convoy::checkpoint
