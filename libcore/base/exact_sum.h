// SPDX-License-Identifier: Apache-2.0
// A sum of doubles that does not depend on their order, nor on how they are spread over threads and ranks: every term
// is added to a fixed-point number so wide (2^-1074 to 2^1101) that nothing is rounded (Kulisch, 1971); the sum is
// rounded once, when it is read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace convoy {

class ExactSum {
 public:
  void add(double x);
  void add(const ExactSum& other);

  // To nearest, ties to even (but for results below 2^-1022). NaN if any term was not finite.
  double value() const;

  // What the sums of several ranks are added up by, word by word, as 64-bit integers: up to 2^31 ranks. The words of
  // equal sums are equal.
  static constexpr std::size_t kWords = 69;
  std::span<std::int64_t, kWords> words();

 private:
  // 32 bits each from the lowest, and room for 2^31 terms more; all but the highest are below 2^32 after carry().
  static constexpr std::size_t kDigits = kWords - 1;
  static constexpr std::int64_t kMostPending = std::int64_t{1} << 30;

  void carry();

  std::array<std::int64_t, kWords> words_{};  // the last one counts terms that are not finite
  std::int64_t pending_ = 0;                  // terms since the last carry
};

}  // namespace convoy
