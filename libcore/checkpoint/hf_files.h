// SPDX-License-Identifier: Apache-2.0
// Which files of a Hugging Face folder hold the weights, and the tensors in them. Private to the module.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "libcore/checkpoint/safetensors.h"

namespace convoy::checkpoint {

struct HfEntry {
  std::size_t file = 0;  // index into HfFiles::files
  const SafetensorsEntry* entry = nullptr;
};

struct HfFiles {
  std::vector<SafetensorsFile> files;
  std::map<std::string, HfEntry> tensors;  // by the name in the file
};

// Opens model.safetensors, or every file that model.safetensors.index.json names, and holds index and files against
// each other.
HfFiles open_hf_files(const Path& folder);

}  // namespace convoy::checkpoint
