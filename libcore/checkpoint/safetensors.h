// SPDX-License-Identifier: Apache-2.0
// The safetensors format: u64 header size, JSON header, data. The reader is strict: entries tile the data exactly, sizes and
// shapes agree, keys are unique. It maps the file and copies nothing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/tensor/view.h"

namespace convoy::checkpoint {

struct NamedTensor {
  std::string name;
  tensor::View view;  // dense
};

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const Path& path);  // DataError names file, tensor, expected, found

  const std::vector<NamedTensor>& tensors() const { return tensors_; }  // in file order
  const Path& path() const { return file_.path(); }

 private:
  MappedFile file_;
  std::vector<NamedTensor> tensors_;
};

// Writes the tensors under `path`, committed by rename, with {"format": "pt"} as metadata.
void write_safetensors(const Path& path, const std::vector<NamedTensor>& tensors);

}  // namespace convoy::checkpoint
