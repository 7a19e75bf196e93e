// SPDX-License-Identifier: Apache-2.0
// The safetensors format: u64 header size, JSON header, data. The reader is strict: entries tile the data exactly,
// sizes and shapes agree, keys are unique. It maps the file and copies nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/tensor/view.h"

namespace convoy::checkpoint {

struct NamedTensor {
  std::string name;
  tensor::View view;  // dense
};

// One entry of a header, as it is written: also of a type or rank that our tensors do not have.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // "F32", "BOOL", ...
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes from the start of the data
};

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const Path& path);  // DataError names file, tensor, expected, found

  const std::vector<SafetensorsEntry>& entries() const { return entries_; }  // in file order
  // The entries that our types and ranks hold, in file order. Their bytes may lie unaligned, as data() may.
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  // The first byte of the data, at any alignment: a header need not be padded.
  const std::byte* data() const { return file_.bytes().data() + data_offset_; }
  const Path& path() const { return file_.path(); }
  void release(std::span<const std::byte> part) const { file_.release(part); }  // of the mapping: MappedFile::release

 private:
  MappedFile file_;
  std::size_t data_offset_ = 0;
  std::vector<SafetensorsEntry> entries_;
  std::vector<NamedTensor> tensors_;
};

// Checks the bytes of a whole file and returns its entries in file order. `where` names the file in errors.
std::vector<SafetensorsEntry> parse_safetensors(std::span<const std::byte> bytes, std::string_view where);

// A tensor to write: `produce` is called once and hands its shape.count() elements of `dtype` over in pieces.
using ByteSink = std::function<void(std::span<const std::byte>)>;
struct TensorSource {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  tensor::Shape shape;
  std::function<void(const ByteSink&)> produce;
};

// Writes the tensors under `path`, committed by rename, with {"format": "pt"} as metadata; in the order of the
// reference writer: wider elements first, then by name; the header is padded with blanks so that the data starts at a
// multiple of 8.
void write_safetensors(const Path& path, std::vector<TensorSource> tensors);
void write_safetensors(const Path& path, const std::vector<NamedTensor>& tensors);

}  // namespace convoy::checkpoint
