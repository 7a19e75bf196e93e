// SPDX-License-Identifier: Apache-2.0
// A tensor's values, some at a time, so that memory stays small.
#pragma once

#include <algorithm>
#include <cstdint>

#include "libcore/tensor/box.h"

namespace convoy::apps::ckpt {

constexpr std::int64_t kPieceElements = std::int64_t{4} << 20;

// Calls visit(box, first) for boxes that follow one another in row-major order, `first` the index of a box's first
// element.
template <class Visit>
void for_each_piece(const tensor::Shape& shape, Visit&& visit) {
  const std::int64_t count = shape.count();
  std::int64_t first = 0;
  for (std::int64_t begin = 0; begin < count; begin += kPieceElements) {
    for (const tensor::Box& box :
         tensor::boxes_of_range(tensor::whole(shape), begin, std::min(begin + kPieceElements, count))) {
      visit(box, first);
      first += box.count();
    }
  }
}

}  // namespace convoy::apps::ckpt
