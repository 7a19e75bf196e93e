// SPDX-License-Identifier: Apache-2.0
// What ranks that have waited too long tell each other, and the conclusion; private to comm. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/comm/call.h"

namespace convoy::comm {

// "I wait in this call." Sent as bytes between ranks of one build.
struct Report {
  std::int32_t rank = 0;   // of the world
  std::int32_t peer = -1;  // Call::peer
  std::int64_t sequence = 0;
  std::uint64_t group = 0;  // which group: groups of one name have different members
  std::array<char, 24> what = {};
  std::array<char, 40> group_name = {};

  bool same_call(const Report& other) const;
  std::string text() const;  // "all_reduce #123 of group data"
};

Report make_report(int rank, const Call& call, const std::vector<int>& members, std::string_view group_name);

// Who is missing: "rank 5 (node n02) did not arrive at all_reduce #123 of group data within 60 s; waiting there: ranks
// 1 and 4". `mine` waits among `members` (ranks of the world); `heard` is what the others of `world` ranks said. Ranks
// that wait somewhere else are named with their place, and those that said nothing anywhere stand for the cause.
// `waited` in seconds.
std::string conclusion(const Report& mine, const std::vector<int>& members, int world, const std::vector<Report>& heard,
                       double waited, const std::vector<std::string>* nodes);

}  // namespace convoy::comm
