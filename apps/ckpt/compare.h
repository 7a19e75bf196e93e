// SPDX-License-Identifier: Apache-2.0
// Two sources, tensor by tensor: by digest where both have one, else by their values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/ckpt/source.h"

namespace convoy::apps::ckpt {

struct CompareOptions {
  bool all_states = true;                 // else the weights alone
  double absolute = 0.0, relative = 0.0;  // |a - b| <= absolute + relative |b|; both 0: the same bits
};

// One state of one tensor that is not the same on both sides.
struct TensorDifference {
  std::string name, state;
  std::string reason;  // "is only in A", "has the shapes ..": why there are no values to compare; else empty
  std::int64_t elements = 0, differing = 0;
  double largest = 0.0;     // |a - b|; infinity where only one side is finite
  std::string place;        // "[3, 7]", where that is
  double a = 0.0, b = 0.0;  // there
};

struct Comparison {
  std::int64_t compared = 0, by_digest = 0;  // states of tensors; those for which nothing was read
  std::vector<TensorDifference> tensors;
  std::vector<std::string> other;  // "step: 3 against 4"

  bool equal() const { return tensors.empty() && other.empty(); }
};

// `progress` is told the elements compared so far, of `total` at most.
using CompareProgress = std::function<void(std::int64_t done, std::int64_t total)>;
Comparison compare(const Source& a, const Source& b, const CompareOptions& options, const CompareProgress& progress);

}  // namespace convoy::apps::ckpt
