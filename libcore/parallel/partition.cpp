// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/partition.h"

#include <algorithm>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

constexpr std::int64_t kCut = 64;  // elements; of at least two bytes, so that a part starts at a cache line or a half

}  // namespace

Range partition(std::int64_t count, std::int64_t parts, std::int64_t index) {
  check(count >= 0 && parts > 0 && index >= 0 && index < parts, "a part is one of the parts of a count");
  const std::int64_t share = count / parts, remainder = count % parts;
  const std::int64_t begin = index * share + std::min(index, remainder);
  return {begin, begin + share + (index < remainder ? 1 : 0)};
}

Range flat_partition(std::int64_t count, std::int64_t parts, std::int64_t index) {
  const Range blocks = partition((count + kCut - 1) / kCut, parts, index);
  return {std::min(count, blocks.begin * kCut), std::min(count, blocks.end * kCut)};
}

}  // namespace convoy::parallel
