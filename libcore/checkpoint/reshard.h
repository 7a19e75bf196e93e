// SPDX-License-Identifier: Apache-2.0
// From one layout of a checkpoint to another: a plan, which is a list of box copies that can be printed before it runs,
// and its execution in bounded memory, whatever the checkpoint's size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/checkpoint/manifest.h"
#include "libcore/tensor/view.h"

namespace convoy::checkpoint {

// A box of a state that a file of the target stores; `tensor` counts in the source's Manifest::tensors.
struct PlannedFragment {
  std::size_t tensor = 0;
  tensor::Box box;  // not empty
};

struct PlannedFile {
  std::string name;
  std::vector<PlannedFragment> fragments;  // in the order that they lie in the file
};

// Where a tensor's boxes lie in the files.
struct PlannedPlace {
  std::size_t file = 0, fragment = 0;
};

struct ReshardPlan {
  std::vector<PlannedFile> files;
  std::vector<std::vector<PlannedPlace>> places;    // by tensor, in file order
  std::vector<std::vector<std::size_t>> fragments;  // by tensor: the source's
};

// Pure. The files must tile every tensor of the source: else InternalError.
ReshardPlan plan_reshard(const Manifest& source, std::vector<PlannedFile> files);

struct BoxCopy {
  std::size_t source = 0;  // index into the source's Manifest::fragments
  PlannedPlace target;
  tensor::Box box;  // global coordinates
};
// The copies of one tensor, in file order. They are made tensor by tensor, because all of them would take more memory
// than the copying.
std::vector<BoxCopy> copies_of(const Manifest& source, const ReshardPlan& plan, std::size_t tensor);

// The values of a box of tensor `tensor` of the source, as they are stored, row-major. Called from several threads.
using BoxReader = std::function<void(std::size_t tensor, const tensor::Box& box, tensor::MutableView out)>;

struct ReshardLimits {
  std::int64_t memory = std::int64_t{256} << 20;  // bytes, of all threads together
  int threads = 1;
  std::int64_t piece = 0;  // bytes of a tensor that a thread holds at a time; 0: all that the memory allows
};
constexpr std::int64_t kLeastReshardMemory = std::int64_t{32} << 20;

// Writes the files of `plan` into `folder` and describes them, with the source's tensors and progress, as a manifest of
// layout `layout`; write_manifest() is left to the caller. Reads the source in row order, each byte once for every 64
// files. `digests`: the source's are known, and what was copied must have the same, else DataError. `progress` is told
// the bytes done so far.
Manifest execute_reshard(const Manifest& source, bool digests, const ReshardPlan& plan, const StoredLayout& layout,
                         const BoxReader& read, const Path& folder, const ReshardLimits& limits,
                         const std::function<void(std::uint64_t)>& progress);

}  // namespace convoy::checkpoint
