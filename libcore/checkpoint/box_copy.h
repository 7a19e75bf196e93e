// SPDX-License-Identifier: Apache-2.0
// How the elements that two boxes share lie in each of them. Private to the module.
#pragma once

#include <array>
#include <cstdint>

#include "libcore/tensor/box.h"

namespace convoy::checkpoint {

// Calls body(source, destination, count) for runs of elements that follow one another in both boxes' row-major order,
// ascending in both. `common` is their intersection.
template <class Body>
void for_each_run(const tensor::Box& from, const tensor::Box& to, const tensor::Box& common, Body body) {
  const int rank = common.extent.rank();
  int outer = rank;  // dimensions [outer, rank) make one run
  std::int64_t length = 1;
  while (outer > 0) {
    --outer;
    length *= common.extent[outer];
    if (common.extent[outer] != from.extent[outer] || common.extent[outer] != to.extent[outer]) break;
  }
  std::int64_t runs = 1;
  for (int d = 0; d < outer; ++d) runs *= common.extent[d];
  const auto place = [&](const tensor::Box& box, const std::array<std::int64_t, tensor::kMaxRank>& at) {
    std::int64_t index = 0;
    for (int d = 0; d < rank; ++d) index = index * box.extent[d] + at[static_cast<std::size_t>(d)] - box.offset[d];
    return index;
  };
  std::array<std::int64_t, tensor::kMaxRank> at{};
  for (std::int64_t run = 0; run < runs; ++run) {
    std::int64_t rest = run;
    for (int d = rank; d-- > 0;) {
      at[static_cast<std::size_t>(d)] = common.offset[d];
      if (d >= outer) continue;
      at[static_cast<std::size_t>(d)] += rest % common.extent[d];
      rest /= common.extent[d];
    }
    body(place(from, at), place(to, at), length);
  }
}

}  // namespace convoy::checkpoint
