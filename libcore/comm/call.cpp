// SPDX-License-Identifier: Apache-2.0
#include "libcore/comm/call.h"

#include <fmt/format.h>

namespace convoy::comm {
namespace {

std::string_view node_of(int rank, const std::vector<std::string>* nodes) {
  const auto index = static_cast<std::size_t>(rank);
  return nodes == nullptr || index >= nodes->size() ? std::string_view() : std::string_view((*nodes)[index]);
}

std::string place(int rank, const std::vector<std::string>* nodes) {
  const std::string_view node = node_of(rank, nodes);
  return node.empty() ? "" : fmt::format(" (node {})", node);
}

}  // namespace

std::string text_of(const Call& call, std::string_view group) {
  if (call.peer < 0) return fmt::format("{} #{} of group {}", call.what, call.sequence, group);
  const bool sends = std::string_view(call.what) == "send";
  return fmt::format("{} #{} {} rank {} of group {}", call.what, call.sequence, sends ? "to" : "from", call.peer,
                     group);
}

std::string rank_text(int rank, const std::vector<std::string>* nodes) {
  return fmt::format("rank {}{}", rank, place(rank, nodes));
}

std::string ranks_text(const std::vector<int>& ranks, const std::vector<std::string>* nodes) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const bool last = i + 1 == ranks.size();
    if (i > 0) text += last ? " and " : ", ";
    text += std::to_string(ranks[i]);
    if (last || node_of(ranks[i], nodes) != node_of(ranks[i + 1], nodes)) text += place(ranks[i], nodes);
  }
  return text;
}

}  // namespace convoy::comm
