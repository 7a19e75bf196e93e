// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/blend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "libcore/base/error.h"

namespace convoy::data {
namespace {

std::vector<double> weights_of(const std::vector<Sampler>& samplers, std::span<const double> weights) {
  if (!weights.empty()) return {weights.begin(), weights.end()};
  std::vector<double> windows;
  for (const Sampler& sampler : samplers) windows.push_back(static_cast<double>(sampler.windows()));
  return windows;
}

std::vector<std::int64_t> quotas_of(const std::vector<Sampler>& samplers, std::span<const double> given) {
  const std::vector<double> weights = weights_of(samplers, given);
  check(!samplers.empty() && weights.size() == samplers.size(), "a blend has a weight for each of its sets");
  std::vector<std::int64_t> quotas = blend_quotas(weights);
  const auto none = std::ranges::find(quotas, 0);
  if (none == quotas.end()) return quotas;
  const auto set = static_cast<std::size_t>(none - quotas.begin());
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  throw ConfigError(fmt::format(
      "the blend takes {:.2g} of its samples from data set {} of {}, which is less than one of {}: leave the set out, or give "
      "--data-weights of which its is at least {:.2g} of the sum",
      weights[set] / sum, set + 1, weights.size(), kBlendPeriod, 1.0 / static_cast<double>(kBlendPeriod)));
}

}  // namespace

std::vector<std::int64_t> blend_quotas(std::span<const double> weights) {
  // Divided by the largest first: a sum of the largest doubles is no number.
  const double largest = *std::ranges::max_element(weights);
  double sum = 0.0;
  for (const double weight : weights) {
    check(weight > 0.0 && std::isfinite(weight), "weights are positive and finite");
    sum += weight / largest;
  }
  std::vector<std::int64_t> quotas;
  std::vector<double> remainders;
  for (const double weight : weights) {
    const double exact = weight / largest / sum * static_cast<double>(kBlendPeriod);
    quotas.push_back(static_cast<std::int64_t>(std::floor(exact)));
    remainders.push_back(exact - std::floor(exact));
  }
  std::vector<std::size_t> by_remainder(weights.size());
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::ranges::stable_sort(by_remainder, std::greater{}, [&](std::size_t i) { return remainders[i]; });
  const std::int64_t left = kBlendPeriod - std::accumulate(quotas.begin(), quotas.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < left; ++i) ++quotas[by_remainder[static_cast<std::size_t>(i) % by_remainder.size()]];
  return quotas;
}

// Each slot goes to the set that is farthest behind its share, which is never one that has had all of its quota: what all are
// behind by sums to one slot.
Blend::Blend(std::vector<std::int64_t> quotas) : quotas_(std::move(quotas)), slots_(static_cast<std::size_t>(kBlendPeriod)) {
  check(!quotas_.empty() && quotas_.size() <= kMostBlendedSets, "a blend has a set, and no more than it can count");
  check(std::accumulate(quotas_.begin(), quotas_.end(), std::int64_t{0}) == kBlendPeriod, "quotas fill the period");
  std::vector<std::int64_t> behind(quotas_.size(), 0);  // in slots, times the period
  std::vector<std::uint32_t> taken(quotas_.size(), 0);
  for (Slot& slot : slots_) {
    for (std::size_t set = 0; set < quotas_.size(); ++set) behind[set] += quotas_[set];
    const auto set = static_cast<std::size_t>(std::ranges::max_element(behind) - behind.begin());
    behind[set] -= kBlendPeriod;
    slot = {static_cast<std::uint16_t>(set), taken[set]++};
  }
}

Blend::Place Blend::place(std::int64_t global_sample) const {
  check(global_sample >= 0, "samples are counted from 0");
  const Slot& slot = slots_[static_cast<std::size_t>(global_sample % kBlendPeriod)];
  return {slot.set, global_sample / kBlendPeriod * quotas_[slot.set] + slot.rank};
}

std::int64_t Blend::samples_before(std::int64_t global_sample, std::size_t set) const {
  const auto part = slots_.begin() + static_cast<std::ptrdiff_t>(global_sample % kBlendPeriod);
  return global_sample / kBlendPeriod * quotas_[set] +
         std::count_if(slots_.begin(), part, [set](const Slot& slot) { return slot.set == set; });
}

BlendedSampler::BlendedSampler(std::vector<Sampler> samplers, std::span<const double> weights)
    : samplers_(std::move(samplers)), blend_(quotas_of(samplers_, weights)) {}

BlendedSampler::Window BlendedSampler::window(std::int64_t global_sample) const {
  const Blend::Place place = blend_.place(global_sample);
  return {place.set, samplers_[place.set].first_token(place.sample)};
}

double BlendedSampler::share(std::size_t set) const {
  return static_cast<double>(blend_.quotas()[set]) / static_cast<double>(kBlendPeriod);
}

double BlendedSampler::epochs(std::int64_t global_sample, std::size_t set) const {
  return static_cast<double>(blend_.samples_before(global_sample, set)) / static_cast<double>(samplers_[set].windows());
}

}  // namespace convoy::data
