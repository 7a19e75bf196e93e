// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/digest.h"

#include <gtest/gtest.h>

#include "tests/unit/checkpoint/layouts.h"

namespace convoy::checkpoint {
namespace {

using layouts::Known;
using tensor::Box;
using tensor::DType;
using tensor::Shape;

// The formula of docs/formats.md, as it is written there.
std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9;
  x ^= x >> 27;
  x *= 0x94D049BB133111EB;
  x ^= x >> 31;
  return x;
}

TEST(Digest, OfOneElementIsTheFormulaByHand) {
  // mix64(x) of x = 0 is 0, so the stored bits mix64(G) of element 0 cancel to nothing; bits 0 leave mix64(mix64(G)).
  const std::uint64_t inner = mix64(0x9E3779B97F4A7C15);
  EXPECT_EQ(inner, 0xE220A8397B1DCDAFu);  // splitmix64's first output for seed 0, as it is published
  const std::uint32_t zero = 0;
  EXPECT_EQ(digest_part(std::as_bytes(std::span(&zero, 1)), DType::kF32, Shape{1}, tensor::whole(Shape{1}), 0),
            mix64(inner));
}

TEST(Digest, OfAWholeTensorIsTheFormula) {
  for (const Known& known : layouts::tensors()) {
    std::uint64_t expected = 0;
    for (std::int64_t i = 0; i < known.shape.count(); ++i)
      expected += mix64(mix64(static_cast<std::uint64_t>(i) + 0x9E3779B97F4A7C15) ^ layouts::bits_at(known, i));
    const Box box = tensor::whole(known.shape);
    EXPECT_EQ(digest_part(layouts::bytes_of_box(known, box), known.dtype, known.shape, box, 0), expected) << known.name;
  }
}

TEST(Digest, PartsOfAnyLayoutAddUpToTheWhole) {
  for (const auto& [name, spread] : layouts::spreads()) {
    for (const Known& known : layouts::tensors()) {
      std::uint64_t sum = 0;
      for (int rank = 0; rank < 4; ++rank)
        for (const Box& box : spread(known, rank, 4))
          sum += digest_part(layouts::bytes_of_box(known, box), known.dtype, known.shape, box, 0);
      const Box box = tensor::whole(known.shape);
      EXPECT_EQ(sum, digest_part(layouts::bytes_of_box(known, box), known.dtype, known.shape, box, 0))
          << known.name << ", " << name;
    }
  }
}

TEST(Digest, APieceOfABoxStartsAtAnyElement) {
  const Known known{"cube", "weight", DType::kBF16, Shape{5, 7, 11}};
  const Box box{Shape{1, 2, 3}, Shape{3, 4, 5}};
  const std::vector<std::byte> bytes = layouts::bytes_of_box(known, box);
  const std::uint64_t whole = digest_part(bytes, known.dtype, known.shape, box, 0);
  for (std::int64_t cut = 0; cut <= box.count(); ++cut) {
    const auto at = static_cast<std::size_t>(2 * cut);
    EXPECT_EQ(digest_part(std::span(bytes).first(at), known.dtype, known.shape, box, 0) +
                  digest_part(std::span(bytes).subspan(at), known.dtype, known.shape, box, cut),
              whole)
        << cut;
  }
}

TEST(Digest, SeesAnElementThatMoved) {
  const std::vector<float> values = {1, 2, 3, 4}, swapped = {1, 3, 2, 4};
  const Box box = tensor::whole(Shape{2, 2});
  EXPECT_NE(digest_part(std::as_bytes(std::span(values)), DType::kF32, Shape{2, 2}, box, 0),
            digest_part(std::as_bytes(std::span(swapped)), DType::kF32, Shape{2, 2}, box, 0));
}

}  // namespace
}  // namespace convoy::checkpoint
