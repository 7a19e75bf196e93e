// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/partial_sums.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

using tensor::DType;
using tensor::MutableView;

std::size_t bytes_of(const PartialGradient& partial) {
  return static_cast<std::size_t>(partial.gradient.count()) * sizeof(float);
}

// Every tensor has room for all of its parts, one after another. `copy` is called with a rank's own part and its place.
template <class Copy>
void for_each_place(std::span<const PartialGradient> gradients, std::byte* staging, Copy&& copy) {
  for (const PartialGradient& partial : gradients) {
    const std::size_t bytes = bytes_of(partial);
    copy(partial.gradient.data, staging + static_cast<std::size_t>(partial.part) * bytes, bytes);
    staging += static_cast<std::size_t>(partial.parts) * bytes;
  }
}

}  // namespace

PartialSums::PartialSums(comm::Communicator& tensor, std::vector<PartialGradient> gradients)
    : tensor_(tensor), gradients_(std::move(gradients)) {
  for (const PartialGradient& partial : gradients_) {
    check(partial.gradient.dtype == DType::kF32 && partial.gradient.dense(), "gradients are dense fp32 tensors");
    check(partial.part >= 0 && partial.part < partial.parts, "a rank's part is one of the tensor's");
  }
}

void PartialSums::sum(device::Stream& stream, std::size_t begin, std::size_t end) {
  if (tensor_.size() == 1) return;
  const auto before = [](const PartialGradient& partial, std::size_t index) { return partial.parameter < index; };
  const auto first = std::lower_bound(gradients_.begin(), gradients_.end(), begin, before);
  const std::span<const PartialGradient> mine(first, std::lower_bound(first, gradients_.end(), end, before));
  if (mine.empty()) return;

  // Over the whole group, with zeros where the other parts lie: these tensors are small, and a group for each part
  // would be one more that a trace tells apart.
  std::size_t bytes = 0;
  for (const PartialGradient& partial : mine) bytes += static_cast<std::size_t>(partial.parts) * bytes_of(partial);
  if (bytes == 0) return;  // shares of a replica that has none: its tensor-parallel ranks have none either
  if (bytes > staging_.size()) staging_ = device::Buffer(bytes, {});
  std::memset(staging_.data(), 0, bytes);
  for_each_place(mine, staging_.data(),
                 [](void* own, std::byte* place, std::size_t size) { std::memcpy(place, own, size); });
  const MutableView all{staging_.data(), DType::kF32, {static_cast<std::int64_t>(bytes / sizeof(float))}, 0};
  tensor_.all_reduce(stream, all, comm::Reduction::kSum);
  for_each_place(mine, staging_.data(),
                 [](void* own, const std::byte* place, std::size_t size) { std::memcpy(own, place, size); });
}

}  // namespace convoy::parallel
