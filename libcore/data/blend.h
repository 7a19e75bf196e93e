// SPDX-License-Identifier: Apache-2.0
// Several data sets as one stream of samples, without an index: pure arithmetic on the number of samples consumed so far.
// Samples come in periods of kBlendPeriod, in each of which every set has its exact quota, spread evenly; every set has its
// own epochs and its own order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libcore/data/sampler.h"

namespace convoy::data {

inline constexpr std::int64_t kBlendPeriod = std::int64_t{1} << 16;  // stored in the order of every blended run: never change
inline constexpr std::size_t kMostBlendedSets = 1024;

// Of kBlendPeriod samples, those that each set gives: shares of the weights, rounded by largest remainder (Hamilton's method),
// ties to the earlier set. Weights are positive and finite.
std::vector<std::int64_t> blend_quotas(std::span<const double> weights);

class Blend {
 public:
  // Quotas are positive and sum to kBlendPeriod; there are at most kMostBlendedSets.
  explicit Blend(std::vector<std::int64_t> quotas);

  struct Place {
    std::size_t set = 0;
    std::int64_t sample = 0;  // of that set
  };
  Place place(std::int64_t global_sample) const;
  // How many of the samples [0, global_sample) are of this set.
  std::int64_t samples_before(std::int64_t global_sample, std::size_t set) const;
  const std::vector<std::int64_t>& quotas() const { return quotas_; }

 private:
  struct Slot {
    std::uint16_t set = 0;
    std::uint32_t rank = 0;  // among the set's slots of the period; at most kBlendPeriod - 1
  };
  std::vector<std::int64_t> quotas_;
  std::vector<Slot> slots_;  // [kBlendPeriod]
};

// The window of each sample of one set, or of several blended.
class BlendedSampler {
 public:
  struct Window {
    std::size_t set = 0;
    std::int64_t first_token = 0;
  };

  // `samplers`: of each set. `weights`: one a set, or empty: each set by its number of samples. ConfigError if a weight gives its
  // set no sample in a period.
  BlendedSampler(std::vector<Sampler> samplers, std::span<const double> weights);

  Window window(std::int64_t global_sample) const;
  std::size_t sets() const { return samplers_.size(); }
  double share(std::size_t set) const;  // of all samples
  // How often the samples [0, global_sample) go through this set.
  double epochs(std::int64_t global_sample, std::size_t set) const;
  const Sampler& sampler(std::size_t set) const { return samplers_[set]; }

 private:
  std::vector<Sampler> samplers_;
  Blend blend_;
};

}  // namespace convoy::data
