// SPDX-License-Identifier: Apache-2.0
// The HDF5 side of a checkpoint's files: lays them out, and holds them against what the manifest says. Payloads never
// pass through the library: it holds a global lock, and converts bf16 a hundred times slower than memory moves. Private
// to the module; hdf5_file.cpp alone includes the library.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/checkpoint/manifest.h"

namespace convoy::checkpoint {

// A file begins with a user block, which HDF5 leaves to us: text that says whose file it is, padded with zero bytes.
constexpr std::size_t kUserBlock = 512;
std::string user_block(std::string_view save_id);

struct DatasetPlan {
  std::string path;  // "/weight/model.norm.weight"
  tensor::DType dtype = tensor::DType::kF32;
  tensor::Shape shape;  // of the whole tensor
  tensor::Box box;      // of what the dataset holds
};

// The path of a fragment's dataset: /STATE/NAME, and #NUMBER where the file has `count` > 1 boxes of that tensor.
std::string dataset_path(std::string_view state, std::string_view name, std::size_t number, std::size_t count);

// Creates the file with its datasets laid out, contiguous and unwritten, and returns where each begins, in bytes from
// the start of the file. EnvironmentError with HDF5's reason.
std::vector<std::uint64_t> create_shard_file(const Path& file, const std::string& save_id,
                                             const std::vector<DatasetPlan>& datasets);

// DataError naming file and dataset unless every dataset is there, of this type and box, at this place.
void check_shard_file(const Path& file, const std::string& save_id, const std::vector<DatasetPlan>& datasets,
                      const std::vector<std::uint64_t>& offsets);

constexpr const char* kCommonFile = "common.h5";
void create_common_file(const Path& file, const std::string& save_id, const Description& description);
void check_common_file(const Path& file, const std::string& save_id, const Description& description);

}  // namespace convoy::checkpoint
