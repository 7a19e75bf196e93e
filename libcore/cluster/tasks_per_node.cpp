// SPDX-License-Identifier: Apache-2.0
#include "libcore/cluster/tasks_per_node.h"

#include <charconv>

namespace convoy::cluster {
namespace {

bool take(std::string_view& text, std::string_view token) {
  if (!text.starts_with(token)) return false;
  text.remove_prefix(token.size());
  return true;
}

std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 1) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::optional<int> tasks_on_node(std::string_view list, int node) {
  while (!list.empty()) {
    const std::optional<int> tasks = take_number(list);
    if (!tasks) return std::nullopt;
    int nodes = 1;
    if (take(list, "(x")) {
      const std::optional<int> repeated = take_number(list);
      if (!repeated || !take(list, ")")) return std::nullopt;
      nodes = *repeated;
    }
    if (node < nodes) return tasks;
    node -= nodes;
    if (!list.empty() && !take(list, ",")) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace convoy::cluster
