// SPDX-License-Identifier: Apache-2.0
// Trains a small run (cut_down.h) on thread ranks in a layout and on one rank, on the same made-up tokens, with the
// trainer's own step, and compares what both did at every point of a step.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libcore/config/run_options.h"
#include "libcore/parallel/groups.h"
#include "libcore/train/cut_down.h"

namespace convoy::train {

// The run that the options describe, cut down: on --expect-world ranks, else on tensor x pipeline ranks and as many
// again if the batch divides into two replicas. Only model, layout and batch are looked at. ConfigError with all that
// is wrong with them.
SmallRun small_run(const config::RunOptions& options);

// In the order of a step.
enum class Compared {
  kLoss,      // of each micro-batch, after its forward pass
  kGradient,  // of each parameter, after their reduction
  kNorm,      // of all gradients
  kWeight,    // of each parameter, after the update
};
constexpr std::size_t kComparisons = 4;

struct CheckSettings {
  int steps = 3;
  std::uint64_t seed = 1;
  std::size_t bucket_bytes = 4096;  // so that there are several
  bool overlap = true;
  double watchdog_seconds = 60.0;
  // What a test breaks; called once on each rank, before anything is allocated.
  std::function<void(parallel::Groups&)> interfere = {};
};

// A value that is not the one of a single rank.
struct Difference {
  int step = 0;
  Compared what = Compared::kLoss;
  std::string name;   // of a tensor; "micro-batch 2 of replica 1"
  std::string place;  // "[3, 5]": where in the whole tensor the largest difference is
  int rank = 0;
  parallel::Coordinates at;
  double found = 0.0, expected = 0.0;
  double allowed = 0.0;  // that it may differ
};

struct Comparison {
  std::int64_t compared = 0;   // values of all ranks and steps
  std::int64_t different = 0;  // tensors, micro-batches or norms
  double largest = 0.0;        // difference, relative to what `tolerance` is relative to
  double tolerance = 0.0;
};

struct LayoutReport {
  std::array<Comparison, kComparisons> comparisons;  // by Compared
  // The first one in the order of a step: gradients in the order of a backward pass, from the last parameter to the
  // first, so that it names where things went wrong and not what followed from it.
  std::optional<Difference> first;
  bool equal() const { return !first; }
};

// Takes as many threads as the layout has ranks. Throws what a rank throws.
LayoutReport check_layout(const SmallRun& run, const CheckSettings& settings = {});

std::string text_of(Compared what);  // "gradients after their reduction"
std::string text_of(const Difference& difference);

}  // namespace convoy::train
