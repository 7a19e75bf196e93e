// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/random.h"

#include <cmath>
#include <numbers>

#include "libcore/base/checksum.h"
#include "libcore/base/error.h"

namespace convoy {
namespace {

constexpr int kPhiloxRounds = 10;
constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // 2^64 / phi, odd: splitmix64's increment

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

// In (0, 1): never 0, whose logarithm is infinite.
double uniform(std::uint32_t bits) { return (bits + 0.5) * 0x1p-32; }

struct NormalPair {
  float cosine, sine;
};

NormalPair box_muller(std::uint32_t radius_bits, std::uint32_t angle_bits) {
  const double radius = std::sqrt(-2.0 * std::log(uniform(radius_bits)));
  const double angle = 2.0 * std::numbers::pi * uniform(angle_bits);
  return {static_cast<float>(radius * std::cos(angle)), static_cast<float>(radius * std::sin(angle))};
}

PhiloxBlock bits_of_block(std::uint64_t key, std::uint64_t block) {
  return philox4x32({low(key), high(key)}, {low(block), high(block), 0, 0});
}

}  // namespace

PhiloxBlock philox4x32(std::array<std::uint32_t, 2> key, PhiloxBlock counter) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1), high(product0) ^ counter[3] ^ key[1],
               low(product0)};
    key[0] += 0x9E3779B9;  // Weyl constants of the paper: golden ratio, sqrt(3) - 1
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

std::uint64_t stream_key(std::uint64_t seed, std::string_view name) {
  return mix64(mix64(seed + kGoldenRatio) ^ xxh3_64(name));
}

float normal_at(std::uint64_t key, std::uint64_t index) {
  const PhiloxBlock bits = bits_of_block(key, index / 4);
  const std::size_t first = index % 4 / 2 * 2;
  const NormalPair pair = box_muller(bits[first], bits[first + 1]);
  return index % 2 == 0 ? pair.cosine : pair.sine;
}

std::array<float, 4> normal_block(std::uint64_t key, std::uint64_t block) {
  const PhiloxBlock bits = bits_of_block(key, block);
  const NormalPair first = box_muller(bits[0], bits[1]);
  const NormalPair second = box_muller(bits[2], bits[3]);
  return {first.cosine, first.sine, second.cosine, second.sine};
}

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size), half_bits_(1) {
  check(size > 0 && size <= (std::uint64_t{1} << 62), "a permutation has between 1 and 2^62 elements");
  while ((std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
  for (std::size_t round = 0; round < round_keys_.size(); ++round) {
    round_keys_[round] = mix64(key + kGoldenRatio * (round + 1));
  }
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & mask;
    for (const std::uint64_t round_key : round_keys_) {
      const std::uint64_t mixed = left ^ (mix64(right ^ round_key) & mask);
      left = right;
      right = mixed;
    }
    index = left << half_bits_ | right;
  } while (index >= size_);
  return index;
}

}  // namespace convoy
