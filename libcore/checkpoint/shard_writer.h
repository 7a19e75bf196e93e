// SPDX-License-Identifier: Apache-2.0
// One HDF5 shard file being written: datasets are laid out first, contiguous and early-allocated, and their bytes then
// go to the file's own offsets, past HDF5 and its global lock, with checksums and digests on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/checkpoint/manifest.h"

namespace convoy::checkpoint {

struct FragmentPlan {
  std::string name, state;
  tensor::DType dtype = tensor::DType::kF32;
  tensor::Shape shape;  // global
  tensor::Box box;      // not empty
};

// What is known of a fragment once it lies on disk.
struct WrittenFragment {
  std::uint64_t offset = 0;
  std::vector<std::uint32_t> crc32c;
  std::uint64_t digest = 0;  // this box's part of its tensor's
};

// Of the file that holds them, HDF5's own structures included: a little more than it will have.
std::uint64_t estimated_shard_bytes(const std::vector<FragmentPlan>& fragments);

class ShardWriter {
 public:
  // Creates `file`, which is not there yet, with a dataset for each fragment, /STATE/NAME (and #NUMBER where a tensor
  // has several boxes). EnvironmentError with the bytes needed and free where the disk lacks room.
  ShardWriter(const Path& file, const std::string& save_id, std::vector<FragmentPlan> fragments);
  ~ShardWriter();

  // The next elements of fragment `index`, in row-major order of its box, in pieces of whole elements. Different
  // fragments may be written from different threads at the same time.
  void write(std::size_t index, std::span<const std::byte> bytes);
  // One whole checksum block of a fragment: kChecksumBlock bytes, or what the last one has. Blocks may be written from
  // different threads at the same time, in any order; a fragment is written by blocks or by pieces.
  void write_block(std::size_t index, std::size_t block, std::span<const std::byte> bytes);

  // Fsyncs; every fragment has been written whole. In the order of the plans.
  std::vector<WrittenFragment> finish();
  std::uint64_t bytes() const;  // of the file
  StoredFile file() const;      // as the manifest lists it; after finish()

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace convoy::checkpoint
