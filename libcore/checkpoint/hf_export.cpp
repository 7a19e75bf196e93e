// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/hf_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "libcore/base/error.h"
#include "libcore/checkpoint/hf_names.h"
#include "libcore/tensor/fp16.h"

namespace convoy::checkpoint {
namespace {

using tensor::Box;
using tensor::DType;
using tensor::Shape;

// Elements that are read at a time: of fp32, four of a checkpoint's checksum blocks.
constexpr std::int64_t kPiece = std::int64_t{4} << 20;

// Reads boxes of a tensor as `dtype`.
class TypedReader {
 public:
  TypedReader(const WeightSource& weights, DType dtype) : weights_(weights), dtype_(dtype) {}

  std::span<const std::byte> read(const std::string& name, const Box& box) {
    const DType stored = weights_.dtype(name);
    const auto count = static_cast<std::size_t>(box.count());
    const DType taken = stored == dtype_ ? dtype_ : DType::kF32;
    values_.resize(count * tensor::size_of(taken));
    weights_.read(name, box, {values_.data(), taken, box.extent});
    if (taken == dtype_) return values_;
    rounded_.resize(count);
    const std::span wide(reinterpret_cast<const float*>(values_.data()), count);
    if (dtype_ == DType::kBF16) {
      std::ranges::transform(wide, rounded_.begin(), [](float x) { return tensor::to_bf16(x).bits; });
    } else {
      check(dtype_ == DType::kF16, "a Hugging Face folder is written in fp32, bf16 or fp16");
      expect_range_of_fp16(wide, name);
      std::ranges::transform(wide, rounded_.begin(), [](float x) { return tensor::to_fp16(x).bits; });
    }
    return std::as_bytes(std::span(rounded_));
  }

 private:
  // A weight that becomes infinite is another model.
  void expect_range_of_fp16(std::span<const float> values, const std::string& name) const {
    const auto beyond = std::ranges::find_if(
        values, [](float x) { return std::isfinite(x) && !std::isfinite(tensor::to_float(tensor::to_fp16(x))); });
    if (beyond == values.end()) return;
    throw DataError(fmt::format("{}: {} holds {}, which fp16 cannot: its largest number is 65504; write bf16 or fp32",
                                weights_.folder().string(), name, *beyond));
  }

  const WeightSource& weights_;
  DType dtype_;
  std::vector<std::byte> values_;
  std::vector<std::uint16_t> rounded_;
};

void write_whole(const WeightSource& weights, const ExpectedTensor& tensor, DType dtype, const ByteSink& sink) {
  TypedReader reader(weights, dtype);
  const std::int64_t count = tensor.shape.count();
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t end = std::min(begin + kPiece, count);
    for (const Box& box : tensor::boxes_of_range(tensor::whole(tensor.shape), begin, end))
      sink(reader.read(tensor.name, box));
  }
}

// The parts side by side along the last dimension, some rows of each at a time.
void write_joined(const WeightSource& weights, const std::vector<ExpectedTensor>& parts, DType dtype,
                  const ByteSink& sink) {
  std::vector<TypedReader> readers(parts.size(), TypedReader(weights, dtype));
  const bool flat = parts[0].shape.rank() == 1;
  const std::int64_t rows = flat ? 1 : parts[0].shape[0];
  std::int64_t columns = 0;
  for (const ExpectedTensor& part : parts) columns += part.shape.back();
  const std::int64_t step = std::max<std::int64_t>(1, kPiece / columns);
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    const std::int64_t count = std::min(step, rows - begin);
    std::vector<std::span<const std::byte>> values;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Box box = tensor::whole(parts[i].shape);
      if (!flat) box = {box.offset.with(0, begin), box.extent.with(0, count)};
      values.push_back(readers[i].read(parts[i].name, box));
    }
    for (std::int64_t row = 0; row < count; ++row) {
      for (const std::span<const std::byte>& part : values) {
        const std::size_t size = part.size() / static_cast<std::size_t>(count);
        sink(part.subspan(static_cast<std::size_t>(row) * size, size));
      }
    }
  }
}

// The widest of the parts' types where nothing else is asked for: neither half type holds the other's values.
DType dtype_of(const WeightSource& weights, const std::vector<ExpectedTensor>& parts, const HfExportOptions& options) {
  if (options.dtype) return *options.dtype;
  const DType first = weights.dtype(parts.front().name);
  const bool same = std::all_of(parts.begin(), parts.end(),
                                [&](const ExpectedTensor& part) { return weights.dtype(part.name) == first; });
  return same ? first : DType::kF32;
}

std::uint64_t bytes_of(const TensorSource& tensor) {
  return static_cast<std::uint64_t>(tensor.shape.count()) * tensor::size_of(tensor.dtype);
}

// In order; a file is full where the next tensor would not fit.
std::vector<std::vector<TensorSource>> split(std::vector<TensorSource> tensors, std::uint64_t shard_bytes) {
  std::vector<std::vector<TensorSource>> files(1);
  std::uint64_t held = 0;
  for (TensorSource& tensor : tensors) {
    const std::uint64_t bytes = bytes_of(tensor);
    if (!files.back().empty() && bytes > shard_bytes - std::min(held, shard_bytes)) {
      files.emplace_back();
      held = 0;
    }
    held += bytes;
    files.back().push_back(std::move(tensor));
  }
  return files;
}

void write_index(const Path& folder, const std::map<std::string, std::string>& file_of, std::uint64_t bytes) {
  nlohmann::ordered_json index;
  index["metadata"]["total_size"] = bytes;
  index["weight_map"] = file_of;
  write_file_atomically(folder / "model.safetensors.index.json", index.dump(2) + "\n");
}

}  // namespace

HfExportReport export_hf_folder(const Path& folder, const WeightSource& weights,
                                const std::vector<ExpectedTensor>& tensors, const HfExportOptions& options,
                                const std::function<void(std::uint64_t)>& progress) {
  HfExportReport report;
  std::uint64_t done = 0;
  std::vector<NamedShape> ours;
  for (const ExpectedTensor& tensor : tensors) ours.push_back({tensor.name, tensor.shape});
  std::vector<TensorSource> sources;
  for (const HfTensor& tensor : hf_tensors(ours)) {
    std::vector<ExpectedTensor> parts;
    for (const std::size_t part : tensor.parts) parts.push_back(tensors[part]);
    const DType dtype = dtype_of(weights, parts, options);
    sources.push_back({tensor.name, dtype, tensor.shape, [&, parts, dtype](const ByteSink& sink) {
                         const ByteSink counted = [&](std::span<const std::byte> bytes) {
                           sink(bytes);
                           done += bytes.size();
                         };
                         if (parts.size() == 1) write_whole(weights, parts[0], dtype, counted);
                         if (parts.size() > 1) write_joined(weights, parts, dtype, counted);
                         progress(done);
                       }});
    report.bytes += bytes_of(sources.back());
  }
  std::vector<std::vector<TensorSource>> files = split(std::move(sources), options.shard_bytes);
  std::map<std::string, std::string> file_of;
  for (std::size_t i = 0; i < files.size(); ++i) {
    report.files.push_back(files.size() == 1 ? "model.safetensors"
                                             : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, files.size()));
    for (const TensorSource& tensor : files[i]) file_of[tensor.name] = report.files.back();
    write_safetensors(folder / report.files.back(), std::move(files[i]));
  }
  if (files.size() > 1) write_index(folder, file_of, report.bytes);
  write_file_atomically(folder / "generation_config.json", generation_config(options.config_json));
  write_file_atomically(folder / "config.json", options.config_json);
  return report;
}

}  // namespace convoy::checkpoint
