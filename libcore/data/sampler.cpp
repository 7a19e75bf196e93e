// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/sampler.h"

#include <fmt/format.h>

#include "libcore/base/error.h"
#include "libcore/base/random.h"

namespace convoy::data {

Sampler::Sampler(std::int64_t tokens, std::int64_t sequence_length, DataOrder order, std::uint64_t seed, std::size_t set)
    : windows_(0), sequence_length_(sequence_length), order_(order), seed_(seed), set_(set) {
  check(sequence_length > 0, "a sequence must hold at least one token");
  windows_ = tokens > 0 ? (tokens - 1) / sequence_length : 0;
  if (windows_ > 0) return;
  throw DataError(fmt::format("the dataset has {} tokens, but one sample of sequence length {} takes {}: give more data or a "
                              "smaller --sequence-length",
                              tokens, sequence_length, sequence_length + 1));
}

std::int64_t Sampler::first_token(std::int64_t global_sample) const {
  check(global_sample >= 0, "samples are counted from 0");
  const auto index = static_cast<std::uint64_t>(global_sample % windows_);
  if (order_ == DataOrder::kSequential) return static_cast<std::int64_t>(index) * sequence_length_;
  // The first set of several has the order of a run with that set alone.
  const std::string name = set_ == 0 ? fmt::format("data-order:epoch:{}", epoch(global_sample))
                                     : fmt::format("data-order:set:{}:epoch:{}", set_, epoch(global_sample));
  const std::uint64_t key = stream_key(seed_, name);
  const Permutation permutation(static_cast<std::uint64_t>(windows_), key);
  return static_cast<std::int64_t>(permutation(index)) * sequence_length_;
}

}  // namespace convoy::data
