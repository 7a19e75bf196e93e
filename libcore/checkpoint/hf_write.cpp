// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "libcore/base/error.h"
#include "libcore/checkpoint/hf_folder.h"
#include "libcore/checkpoint/hf_names.h"

namespace convoy::checkpoint {
namespace {

using tensor::DType;
using tensor::View;

constexpr std::int64_t kChunk = 16384;  // elements that are rounded at a time

void write_rounded(const float* values, std::int64_t count, const ByteSink& sink) {
  std::array<tensor::Bf16, kChunk> chunk;
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    const auto size = static_cast<std::size_t>(std::min(kChunk, count - begin));
    std::transform(values + begin, values + begin + size, chunk.begin(), [](float x) { return tensor::to_bf16(x); });
    sink(std::as_bytes(std::span(chunk.data(), size)));
  }
}

void write_values(const float* values, std::int64_t count, DType dtype, const ByteSink& sink) {
  if (dtype == DType::kBF16) return write_rounded(values, count, sink);
  sink(std::as_bytes(std::span(values, static_cast<std::size_t>(count))));
}

// The parts side by side along the last dimension.
void write_joined(const std::vector<View>& parts, DType dtype, const ByteSink& sink) {
  if (parts.size() == 1) return write_values(parts[0].as<float>(), parts[0].count(), dtype, sink);
  for (std::int64_t row = 0; row < parts[0].rows(); ++row) {
    for (const View& part : parts) write_values(part.as<float>() + row * part.columns(), part.columns(), dtype, sink);
  }
}

}  // namespace

std::string generation_config(const std::string& config_json) {
  const auto config = nlohmann::ordered_json::parse(config_json);
  nlohmann::ordered_json generation;
  generation["_from_model_config"] = true;
  for (const char* key : {"bos_token_id", "eos_token_id"}) {
    if (config.contains(key) && !config[key].is_null()) generation[key] = config[key];
  }
  return generation.dump(2) + "\n";
}

void write_hf_tensors(const Path& file, const std::vector<NamedTensor>& tensors, DType dtype) {
  check(dtype == DType::kF32 || dtype == DType::kBF16, "a Hugging Face folder is written in fp32 or bf16");
  std::vector<NamedShape> ours;
  for (const NamedTensor& tensor : tensors) {
    check(tensor.view.dtype == DType::kF32 && tensor.view.dense(), "tensors to be stored are dense fp32");
    ours.push_back({tensor.name, tensor.view.shape});
  }
  std::vector<TensorSource> sources;
  for (const HfTensor& tensor : hf_tensors(ours)) {
    std::vector<View> parts;
    for (const std::size_t part : tensor.parts) parts.push_back(tensors[part].view);
    sources.push_back(
        {tensor.name, dtype, tensor.shape, [parts, dtype](const ByteSink& sink) { write_joined(parts, dtype, sink); }});
  }
  write_safetensors(file, std::move(sources));
}

void write_hf_folder(const Path& folder, const std::vector<NamedTensor>& tensors, const HfWriteOptions& options) {
  write_hf_tensors(folder / "model.safetensors", tensors, options.dtype);
  write_file_atomically(folder / "generation_config.json", generation_config(options.config_json));
  write_file_atomically(folder / "config.json", options.config_json);
}

}  // namespace convoy::checkpoint
