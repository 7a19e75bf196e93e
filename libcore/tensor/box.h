// SPDX-License-Identifier: Apache-2.0
// Boxes of a tensor: what one rank, file or copy holds of a global one, in global coordinates. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/tensor/shape.h"

namespace convoy::tensor {

// Elements [offset[d], offset[d] + extent[d]) along every dimension d; row-major inside.
struct Box {
  Shape offset;
  Shape extent;

  std::int64_t count() const { return extent.count(); }
  std::string text() const;  // "[2:4, 0:64]"
  friend bool operator==(const Box&, const Box&) = default;
};

Box whole(const Shape& shape);
// The row-major index in a whole tensor of the `element`-th element of a box of it, in the box's own row-major order.
std::int64_t index_in_whole(const Shape& whole, const Box& box, std::int64_t element);
std::optional<Box> intersection(const Box& a, const Box& b);  // none if they share no element

// The flat range [begin, end) of the box's own row-major elements as boxes in global coordinates, in that order: at
// most 2N - 1 of them for N dimensions, none for an empty range. Each is contiguous in the range.
std::vector<Box> boxes_of_range(const Box& box, std::int64_t begin, std::int64_t end);

}  // namespace convoy::tensor
