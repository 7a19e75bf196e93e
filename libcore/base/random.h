// SPDX-License-Identifier: Apache-2.0
// Counter-based randomness: a value is a pure function of (key, counter), so it does not depend on who computes it, in
// which order, or on how many ranks. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace convoy {

using PhiloxBlock = std::array<std::uint32_t, 4>;

PhiloxBlock philox4x32(std::array<std::uint32_t, 2> key, PhiloxBlock counter);

// splitmix64's finaliser: a bijection of 64-bit words.
std::uint64_t mix64(std::uint64_t x);

// A 64-bit key for a named stream of `seed` ("init:model.embed_tokens.weight").
std::uint64_t stream_key(std::uint64_t seed, std::string_view name);

// The `index`-th value of the standard normal distribution of stream `key` (Box-Muller on two 32-bit uniforms of the
// block index / 4; computed in double, rounded to float).
float normal_at(std::uint64_t key, std::uint64_t index);

// Values 4 block .. 4 block + 3 of the same stream, at the price of one: for filling tensors.
std::array<float, 4> normal_block(std::uint64_t key, std::uint64_t block);

// A bijection of [0, size): a 6-round Feistel network on an even number of bits, cycle-walking into the range. Pinned:
// changing it changes the order of every training run.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t key);
  std::uint64_t operator()(std::uint64_t index) const;  // index < size

 private:
  std::uint64_t size_;
  std::uint32_t half_bits_;
  std::array<std::uint64_t, 6> round_keys_;
};

}  // namespace convoy
