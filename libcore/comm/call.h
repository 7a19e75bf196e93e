// SPDX-License-Identifier: Apache-2.0
// Calls and the ranks that make them, as text for messages; private to comm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::comm {

// One call of one group. Every rank counts the collectives of a group from 1, and its messages to or from each peer.
struct Call {
  const char* what = "";      // "all_reduce"
  std::int64_t sequence = 0;  // 123
  int peer = -1;              // the other rank of a send or receive, in the world; -1: a collective
};

// "all_reduce #123 of group data", "receive #4 from rank 2 of group pipeline".
std::string text_of(const Call& call, std::string_view group);

// "rank 5 (node n02)"; without the node if there is no name of it.
std::string rank_text(int rank, const std::vector<std::string>* nodes);

// "rank 5 (node n02)", "ranks 1, 4 and 6 (node n02)": nodes stand behind every rank where they differ from the next.
std::string ranks_text(const std::vector<int>& ranks, const std::vector<std::string>* nodes);

}  // namespace convoy::comm
