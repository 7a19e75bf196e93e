// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/segments.h"

#include <algorithm>
#include <functional>

namespace convoy::analysis {

std::vector<AttemptSteps> latest_attempts(std::vector<AttemptSteps> attempts) {
  std::ranges::sort(attempts, std::greater{}, &AttemptSteps::attempt);
  std::vector<AttemptSteps> result;  // in order of step
  for (const AttemptSteps& attempt : attempts) {
    std::vector<AttemptSteps> free;  // of its steps, those that no later attempt has
    std::int64_t from = attempt.first;
    for (const AttemptSteps& taken : result) {
      if (taken.last < from) continue;
      if (taken.first > attempt.last) break;
      if (taken.first > from) free.push_back({attempt.attempt, from, taken.first - 1});
      from = taken.last + 1;
    }
    if (from <= attempt.last) free.push_back({attempt.attempt, from, attempt.last});
    result.insert(result.end(), free.begin(), free.end());
    std::ranges::sort(result, {}, &AttemptSteps::first);
  }
  return result;
}

}  // namespace convoy::analysis
