// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/exact_sum.h"

#include <bit>
#include <cmath>
#include <limits>

namespace convoy {
namespace {

constexpr int kDigitBits = 32;
constexpr std::int64_t kDigitMask = (std::int64_t{1} << kDigitBits) - 1;
// Of IEEE 754's double: the bits of a fraction, the exponent of infinities and NaN, the weight of the lowest bit.
constexpr int kFractionBits = 52;
constexpr std::uint64_t kFractionMask = (std::uint64_t{1} << kFractionBits) - 1;
constexpr std::uint64_t kNotFinite = 0x7ff;
constexpr int kLowestWeight = -1074;

}  // namespace

void ExactSum::add(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t exponent = bits >> kFractionBits & kNotFinite;
  if (exponent == kNotFinite) {
    ++words_[kDigits];
    return;
  }
  // A denormal number has the smallest exponent and no hidden bit.
  const std::uint64_t fraction = (bits & kFractionMask) | (exponent > 0 ? kFractionMask + 1 : 0);
  const std::uint64_t position = exponent > 0 ? exponent - 1 : 0;
  const std::size_t digit = position / kDigitBits;
  const int shift = static_cast<int>(position % kDigitBits);
  // The 53 bits, shifted by up to 31, lie in three digits.
  const std::uint64_t low = fraction << shift & static_cast<std::uint64_t>(kDigitMask);
  const std::uint64_t rest = fraction >> (kDigitBits - shift);
  const std::int64_t sign = bits >> 63 ? -1 : 1;
  words_[digit] += sign * static_cast<std::int64_t>(low);
  words_[digit + 1] += sign * static_cast<std::int64_t>(rest & static_cast<std::uint64_t>(kDigitMask));
  words_[digit + 2] += sign * static_cast<std::int64_t>(rest >> kDigitBits);
  if (++pending_ == kMostPending) carry();
}

void ExactSum::add(const ExactSum& other) {
  ExactSum carried = other;
  carried.carry();
  for (std::size_t i = 0; i < kWords; ++i) words_[i] += carried.words_[i];
  if (++pending_ == kMostPending) carry();
}

void ExactSum::carry() {
  for (std::size_t i = 0; i + 1 < kDigits; ++i) {
    words_[i + 1] += words_[i] >> kDigitBits;  // towards minus infinity, so that the digit left is not negative
    words_[i] &= kDigitMask;
  }
  pending_ = 0;
}

std::span<std::int64_t, ExactSum::kWords> ExactSum::words() {
  carry();
  return words_;
}

double ExactSum::value() const {
  if (words_[kDigits] != 0) return std::numeric_limits<double>::quiet_NaN();
  ExactSum sum = *this;
  sum.carry();
  const bool negative = sum.words_[kDigits - 1] < 0;
  if (negative) {
    for (std::size_t i = 0; i < kDigits; ++i) sum.words_[i] = -sum.words_[i];
    sum.carry();
  }
  std::size_t top = kDigits - 1;
  while (top > 1 && sum.words_[top] == 0) --top;
  // 64 bits of the number, of which the lowest also says whether anything below is not zero: enough to round rightly.
  const auto digit = [&](std::size_t i) { return static_cast<std::uint64_t>(sum.words_[i]); };
  std::uint64_t high = digit(top) << kDigitBits | digit(top - 1);
  const int empty = std::countl_zero(high);
  int weight = kDigitBits * static_cast<int>(top - 1) + kLowestWeight;
  bool below = false;
  std::size_t next = top - 1;
  if (next > 0 && empty > 0 && empty < 64) {
    const std::uint64_t more = digit(--next) << kDigitBits;
    high = high << empty | more >> (64 - empty);
    below = more << empty != 0;
    weight -= empty;
  }
  while (next-- > 0) below = below || sum.words_[next] != 0;
  const double magnitude = std::ldexp(static_cast<double>(high | (below ? 1 : 0)), weight);
  return negative ? -magnitude : magnitude;
}

}  // namespace convoy
