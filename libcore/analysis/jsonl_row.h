// SPDX-License-Identifier: Apache-2.0
// A row of the JSON Lines that convoy-profile import takes: one interval of one rank (docs/profile.md has the keys).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libcore/trace/format.h"

namespace convoy::analysis {

inline constexpr int kMostImportedRanks = 65536;

struct JsonlRow {
  int rank = 0;
  std::optional<std::string> host;
  std::optional<int> tensor, pipeline, data;  // coordinates, where the row says them
  std::uint32_t step = 1;
  bool is_collective = false;                                 // a call of a communicator, messages too
  trace::Phase phase = trace::Phase::kOther;                  // of a phase
  trace::Operation operation = trace::Operation::kAllReduce;  // of a call
  trace::GroupKind group_kind = trace::GroupKind::kWorld;     // of a call
  std::string group;                                          // as given: "dp0"
  std::uint32_t sequence = 0;
  std::uint64_t start_ns = 0, duration_ns = 0, bytes = 0;
  std::optional<int> peer;  // of a message: rank of the world
  bool overlapped = false;
  int unknown_keys = 0;

  std::uint64_t end_ns() const { return start_ns + duration_ns; }
};

// Returns why the line is no row, as a clause, or an empty string.
std::string parse_jsonl_row(std::string_view line, JsonlRow& row);

}  // namespace convoy::analysis
