// SPDX-License-Identifier: Apache-2.0
#include "libcore/tensor/shape.h"

#include "libcore/base/error.h"

namespace convoy::tensor {

Shape::Shape(std::span<const std::int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  check(extents.size() <= kMaxRank, "a tensor has at most four dimensions");
  std::size_t dimension = 0;
  for (const std::int64_t extent : extents) {
    check(extent >= 0, "an extent is not negative");
    extents_[dimension++] = extent;
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) {
    check(!__builtin_mul_overflow(count, extent, &count), "a tensor's number of elements fits 63 bits");
  }
}

Shape Shape::with(int dimension, std::int64_t extent) const {
  Shape changed = *this;
  changed.extents_[static_cast<std::size_t>(dimension)] = extent;
  return changed;
}

std::int64_t Shape::count() const {
  std::int64_t count = 1;
  for (int dimension = 0; dimension < rank_; ++dimension) count *= (*this)[dimension];
  return count;
}

std::string Shape::text() const {
  std::string text = "[";
  for (int dimension = 0; dimension < rank_; ++dimension) {
    if (dimension > 0) text += ", ";
    text += std::to_string((*this)[dimension]);
  }
  return text + "]";
}

}  // namespace convoy::tensor
