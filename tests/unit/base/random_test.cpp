// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/random.h"

#include <cmath>
#include <numeric>

#include "libcore/base/error.h"

namespace convoy {
namespace {

struct KnownAnswer {
  PhiloxBlock counter;
  std::array<std::uint32_t, 2> key;
  PhiloxBlock expected;
};

// The three lines "philox4x32 10" of Random123's tests/kat_vectors, which come with the paper.
TEST(Philox, MatchesTheKnownAnswersOfItsAuthors) {
  const std::vector<KnownAnswer> known = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                                          {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                                           {0xffffffff, 0xffffffff},
                                           {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                                          {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                                           {0xa4093822, 0x299f31d0},
                                           {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const KnownAnswer& answer : known) EXPECT_EQ(philox4x32(answer.key, answer.counter), answer.expected);
}

// The published first outputs of splitmix64 seeded with 1234567: the finaliser of seed + n times the golden ratio.
TEST(Mix64, IsTheFinaliserOfSplitmix64) {
  const std::uint64_t golden = 0x9E3779B97F4A7C15;
  EXPECT_EQ(mix64(1234567 + golden), 6457827717110365317u);
  EXPECT_EQ(mix64(1234567 + 2 * golden), 3203168211198807973u);
  EXPECT_EQ(mix64(1234567 + 3 * golden), 9817491932198370423u);
}

// Computed with Python's integers and the xxhash package from the formula in random.h's source.
TEST(StreamKey, IsPinned) {
  EXPECT_EQ(stream_key(42, "init:model.embed_tokens.weight"), 0xdce1cf2281c04c25u);
  EXPECT_NE(stream_key(42, "a"), stream_key(42, "b"));
  EXPECT_NE(stream_key(42, "a"), stream_key(43, "a"));
}

// Computed with Python's integers and math module from Philox's block and the Box-Muller formula.
TEST(NormalAt, IsPinned) {
  constexpr float kRounding = 1e-6f;  // a double's last bit may differ by library, and a float's last bit with it
  const std::vector<double> first = {0.1100691357169152, -0.8030993970529817, -2.2234925734575555, 0.3009010446130511};
  const std::vector<double> far = {-0.7445867363701726, 0.89260147898571, 0.6060647535613565, 1.5874991320104221};
  const std::uint64_t key = 0x0123456789abcdef, far_block = (std::uint64_t{5} << 32) + 1;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(normal_at(key, i), first[i], kRounding);
    EXPECT_NEAR(normal_at(key, 4 * far_block + i), far[i], kRounding);
    EXPECT_EQ(normal_block(key, far_block)[i], normal_at(key, 4 * far_block + i));
  }
}

TEST(NormalAt, HasTheMomentsOfTheStandardNormalDistribution) {
  constexpr int kCount = 400000;
  constexpr double kFiveSigma =
      5 / 632.0;  // 5 / sqrt(kCount), the standard error of the mean; of the square it is sqrt(2) more
  double sum = 0, squares = 0, fourth = 0;
  for (std::uint64_t block = 0; block < kCount / 4; ++block) {
    for (const double value : normal_block(99, block)) {
      sum += value;
      squares += value * value;
      fourth += value * value * value * value;
    }
  }
  EXPECT_NEAR(sum / kCount, 0, kFiveSigma);
  EXPECT_NEAR(squares / kCount, 1, kFiveSigma * std::sqrt(2.0));
  EXPECT_NEAR(fourth / kCount, 3, kFiveSigma * std::sqrt(96.0));
}

std::vector<std::uint64_t> images(std::uint64_t size, std::uint64_t key) {
  const Permutation permutation(size, key);
  std::vector<std::uint64_t> values(size);
  for (std::uint64_t i = 0; i < size; ++i) values[i] = permutation(i);
  return values;
}

// Computed with Python from the definition: changing these numbers changes the order of every training run.
TEST(Permutations, ArePinned) {
  EXPECT_EQ(images(10, 1), (std::vector<std::uint64_t>{3, 9, 4, 0, 7, 8, 1, 2, 5, 6}));
  const Permutation odd(1000003, 0xDEADBEEF);
  EXPECT_EQ(odd(0), 916729u);
  EXPECT_EQ(odd(1), 106567u);
  EXPECT_EQ(odd(2), 821443u);
  EXPECT_EQ(odd(1000002), 407633u);
  const Permutation large((std::uint64_t{1} << 40) + 1, 7);
  EXPECT_EQ(large(0), 1037770058953u);
  EXPECT_EQ(large(std::uint64_t{1} << 40), 918976848340u);
}

TEST(Permutations, HitEveryElementOnce) {
  for (const std::uint64_t size : {1, 2, 3, 4, 5, 7, 16, 17, 1000, 65537}) {
    std::vector<std::uint64_t> values = images(size, size + 3);
    std::sort(values.begin(), values.end());
    for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(values[i], i) << "size " << size;
  }
}

TEST(Permutations, OfDifferentKeysDiffer) { EXPECT_NE(images(1000, 1), images(1000, 2)); }

TEST(Permutations, OfNothingAreRefused) { EXPECT_THROW(Permutation(0, 1), InternalError); }

}  // namespace
}  // namespace convoy
