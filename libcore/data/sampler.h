// SPDX-License-Identifier: Apache-2.0
// Which tokens a training sample holds: pure arithmetic, no state but the number of samples consumed so far. A stream of n
// tokens has N = floor((n - 1) / T) windows of T + 1 tokens with stride T; global sample g is window g mod N of epoch g / N,
// permuted anew each epoch unless the order is sequential.
#pragma once

#include <cstddef>
#include <cstdint>

namespace convoy::data {

enum class DataOrder { kShuffled, kSequential };

class Sampler {
 public:
  // Throws DataError if the stream is shorter than one window. `set`: which of several it is; each has an order of its own.
  Sampler(std::int64_t tokens, std::int64_t sequence_length, DataOrder order, std::uint64_t seed, std::size_t set = 0);

  std::int64_t windows() const { return windows_; }                    // N: samples an epoch
  std::int64_t first_token(std::int64_t global_sample) const;          // where its window starts in the stream
  std::int64_t epoch(std::int64_t global_sample) const { return global_sample / windows_; }

 private:
  std::int64_t windows_;
  std::int64_t sequence_length_;
  DataOrder order_;
  std::uint64_t seed_;
  std::size_t set_;
};

}  // namespace convoy::data
