// SPDX-License-Identifier: Apache-2.0
// Which attempt's record of a step counts: the latest that has one. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace convoy::analysis {

struct AttemptSteps {
  int attempt = 1;
  std::int64_t first = 1, last = 0;
};

// The stretches of steps that each attempt recorded last, in order of step; they do not overlap.
std::vector<AttemptSteps> latest_attempts(std::vector<AttemptSteps> attempts);

}  // namespace convoy::analysis
