// SPDX-License-Identifier: Apache-2.0
// A committed checkpoint, opened for reading: any box of any tensor, whatever layout wrote it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/checkpoint/manifest.h"
#include "libcore/tensor/view.h"

namespace convoy::checkpoint {

class Checkpoint {
 public:
  // A step directory. DataError naming file and field if COMMIT is missing or does not belong to the manifest, if a
  // shard is missing or has another size or save id, or if the boxes do not tile every tensor.
  explicit Checkpoint(const Path& step_directory);
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;

  const Path& path() const;
  const Manifest& manifest() const;
  const std::string& digest() const;
  // The entry of a state; an alias is followed. Null if there is none.
  const StoredTensor* find(std::string_view name, std::string_view state) const;

  // The box's values, row-major, into `out`: of the stored dtype, or fp32, to which bf16 and fp16 are widened exactly.
  // Only the checksum blocks that the box touches are read, and all of those are checked: a DataError names file,
  // tensor and offset.
  void read(std::string_view name, std::string_view state, const tensor::Box& box, tensor::MutableView out) const;

  // Reads every byte against its checksum and every tensor against its digest, and holds each HDF5 file against the
  // manifest; throws at the first fault. Memory stays below a few blocks.
  void verify() const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

// The directory of `step` in a folder of checkpoints. DataError if it holds another step than its name says.
Checkpoint open_step(const Path& checkpoints, std::int64_t step);

// The newest step of a run directory's checkpoints that is committed and opens; none if there is none. Broken ones that
// are newer are named in `skipped`; one that this process may not read, or a disk that fails, is an EnvironmentError:
// it may be sound, and what is older would be trained on over it.
// Of those before step `before` alone, where it is given.
std::optional<Path> newest_checkpoint(const Path& checkpoints, std::vector<std::string>& skipped,
                                      std::optional<std::int64_t> before = std::nullopt);

// Whether a folder is one of ours (it has a manifest or a COMMIT), rather than a Hugging Face folder.
bool is_step_directory(const Path& folder);

}  // namespace convoy::checkpoint
