// SPDX-License-Identifier: Apache-2.0
// Own work of ranks that never were, for tests of what is found in it.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "libcore/analysis/excess.h"

namespace convoy::analysis {

struct MadeSteps {
  Layout layout;
  std::int64_t steps = 100;
  int ranks_per_host = 8;
  double jitter = 0.01;  // standard deviation of the logarithm
  unsigned seed = 1;
  // Milliseconds: data, forward, backward, optimizer, checkpoint.
  std::array<double, kComparedPhases.size()> base = {2, 40, 80, 10, 0};
  // What the time of a phase (an index of kComparedPhases) is multiplied with. Below 0: the step is not recorded.
  std::function<double(int rank, std::int64_t step, std::size_t phase)> factor = [](int, std::int64_t, std::size_t) {
    return 1.0;
  };
};

inline constexpr std::size_t kDataIndex = 0, kForwardIndex = 1, kBackwardIndex = 2, kCheckpointIndex = 4;

inline Comparison make_comparison(const MadeSteps& made) {
  const auto world = static_cast<std::size_t>(made.layout.world());
  const auto steps = static_cast<std::size_t>(made.steps);
  Comparison comparison;
  comparison.layout = made.layout;
  comparison.own = OwnWork(world, steps);
  comparison.starved.assign(world, 0.0F);
  for (std::size_t rank = 0; rank < world; ++rank) {
    const int tensor = static_cast<int>(rank) % made.layout.tensor;
    const int pipeline = static_cast<int>(rank) / made.layout.tensor % made.layout.pipeline;
    const int data = static_cast<int>(rank) / (made.layout.tensor * made.layout.pipeline);
    comparison.ranks.push_back({.at = {.tensor = tensor, .pipeline = pipeline, .data = data},
                                .host = fmt::format("n{}", static_cast<int>(rank) / made.ranks_per_host),
                                .present = true});
  }
  std::mt19937_64 engine(made.seed);
  std::normal_distribution<double> normal(0.0, made.jitter);
  for (std::size_t step = 0; step < steps; ++step) {
    comparison.steps.push_back(static_cast<std::int64_t>(step) + 1);
    double longest = 0.0;
    for (std::size_t rank = 0; rank < world; ++rank) {
      double sum = 0.0;
      for (std::size_t phase = 0; phase < kComparedPhases.size(); ++phase) {
        const double factor = made.factor(static_cast<int>(rank), static_cast<std::int64_t>(step) + 1, phase);
        const double noise = made.jitter > 0.0 ? std::exp(normal(engine)) : 1.0;
        if (factor < 0.0) continue;
        const double milliseconds = made.base[phase] * factor * noise;
        comparison.own.set(phase, step, rank, code_of(static_cast<std::uint64_t>(milliseconds * 1e6)));
        sum += milliseconds;
      }
      longest = std::max(longest, sum);
    }
    comparison.step_seconds.push_back(static_cast<float>(1e-3 * longest + 0.02));
  }
  return comparison;
}

}  // namespace convoy::analysis
