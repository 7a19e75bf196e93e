// SPDX-License-Identifier: Apache-2.0
// How a count is cut into parts: layers over stages, heads and vocabulary over tensor-parallel ranks, elements over
// data-parallel ranks. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace convoy::parallel {

struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

// Part `index` of `parts` near-equal contiguous parts of [0, count); the remainder goes to the first parts.
Range partition(std::int64_t count, std::int64_t parts, std::int64_t index);

// The same cut at multiples of 64 elements (but for the end), so that every part of an array starts at a cache line.
// Parts may be empty.
Range flat_partition(std::int64_t count, std::int64_t parts, std::int64_t index);

}  // namespace convoy::parallel
