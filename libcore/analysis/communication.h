// SPDX-License-Identifier: Apache-2.0
// What of a collective is waiting and what is transferring, without a common clock: all members leave together, so the
// one that came last was in it for the shortest time, which is the transfer; what the others took longer, they waited.
// That holds for all-reduce, reduce-scatter, all-gather and barrier. A broadcast's root and a sender may leave early,
// and a receiver's time has no fastest member to compare with, so they are not split: for the pipeline nothing is said.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libcore/analysis/report.h"

namespace convoy::analysis {

// One member's part in one collective.
struct MemberCall {
  std::uint32_t sequence = 0;
  std::uint16_t member = 0;  // place in the group
  trace::Operation operation = trace::Operation::kAllReduce;
  float seconds = 0.0F;
};

struct WaitSplit {
  double waiting = 0.0, transferring = 0.0;  // seconds, summed over calls and members
  std::int64_t calls = 0;                    // that could be split
  void add(const WaitSplit& other);
};

// Of one group of `members` ranks. Only calls that every member has once, with the same operation, count. Reorders its
// argument.
WaitSplit split_calls(std::vector<MemberCall>& calls, std::size_t members);

// Puts waiting and transferring into the rows of tensor, data and world groups: of `seconds`, the share that they have
// in the calls of the newest segment whose events were kept. Reads at most kRanksOfEvents ranks, whole groups.
void split_exposed(const TraceSet& traces, const StepRange& range, std::vector<Exposed>& exposed);
inline constexpr std::size_t kRanksOfEvents = 256;

}  // namespace convoy::analysis
