// SPDX-License-Identifier: Apache-2.0
// What check-layout found: how far a layout's values are from those of one rank, and the first that is too far.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/model/parameters.h"
#include "libcore/parallel/mesh.h"

namespace convoy::train {

// In the order of a step.
enum class Compared {
  kLoss,      // of each micro-batch, after its forward pass
  kGradient,  // of each parameter, after their reduction
  kStepLoss,  // of the global batch, as a run writes it
  kNorm,      // of all gradients
  kRate,      // of the update
  kWeight,    // of each parameter, after the update
  kCopy,      // of a weight that several ranks hold: the same bits on all of them
};
constexpr std::size_t kComparisons = 7;

// A value that is not the one of a single rank.
struct Difference {
  int step = 0;
  Compared what = Compared::kLoss;
  std::string name;   // of a tensor; "micro-batch 2 of replica 1"
  std::string place;  // "[3, 5]": where in the whole tensor the largest difference is
  int rank = 0;
  parallel::Coordinates at;
  double found = 0.0, expected = 0.0;
  double allowed = 0.0;    // that it may differ
  std::int64_t order = 0;  // among those of the same step and kind
};

struct Comparison {
  std::int64_t compared = 0;   // values of all ranks and steps
  std::int64_t different = 0;  // tensors, micro-batches, losses, norms or rates
  double largest = 0.0;        // difference, relative to what `tolerance` is relative to
  double tolerance = 0.0;      // of the first steps
};

struct LayoutReport {
  std::array<Comparison, kComparisons> comparisons;  // by Compared
  // The largest differences of each step, by Compared; step 0 holds the initial weights.
  std::vector<std::array<double, kComparisons>> steps;
  // The first one in the order of a step: gradients in the order of a backward pass, from the last parameter to the
  // first, so that it names where things went wrong and not what followed from it.
  std::optional<Difference> first;
  bool equal() const { return !first; }
};

std::string text_of(Compared what);  // "gradients after their reduction"
std::string text_of(const Difference& difference);

// Whether `a` comes before `b` in the order of a step, and of ranks.
bool is_before(const Difference& a, const Difference& b);

// What a rank holds of a weight after a step (0: initially).
struct HeldWeight {
  int step = 0;
  std::size_t parameter = 0;  // in the model's table
  tensor::Box box;
  int rank = 0;
  parallel::Coordinates at;
  std::uint64_t checksum = 0;
};

// Compares the ranks' copies of weights with one another: those of all ranks, in any order.
void compare_copies(std::vector<HeldWeight> held, const std::vector<model::Parameter>& table, LayoutReport& report);

}  // namespace convoy::train
