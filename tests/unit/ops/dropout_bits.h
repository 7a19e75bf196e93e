// SPDX-License-Identifier: Apache-2.0
// The random bits of an element, written down as libcore/ops/dropout.h describes them, one element at a time.
#pragma once

#include "libcore/base/random.h"
#include "libcore/ops/dropout.h"

namespace convoy::ops::test {

inline std::uint32_t philox_word(std::uint64_t key, std::int64_t c0, std::int64_t c1, std::int64_t c2, std::int64_t c3,
                                 std::int64_t word) {
  const auto u32 = [](std::int64_t x) { return static_cast<std::uint32_t>(x); };
  const PhiloxBlock block = philox4x32({static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)},
                                       {u32(c0), u32(c1), u32(c2), u32(c3)});
  return block[static_cast<std::size_t>(word)];
}

inline bool keeps_channel(const Dropout& dropout, std::int64_t slot, std::int64_t position, std::int64_t channel) {
  return philox_word(dropout.key, slot, 0, position, channel / 64 * 16 + channel % 16, channel % 64 / 16) >=
         dropout.threshold;
}

inline bool keeps_key(const Dropout& dropout, std::int64_t slot, std::int64_t head, std::int64_t q, std::int64_t k) {
  return philox_word(dropout.key, slot, head, q / 32 * 16 + q % 16, k / 32 * 16 + k % 16,
                     q % 32 / 16 * 2 + k % 32 / 16) >= dropout.threshold;
}

}  // namespace convoy::ops::test
