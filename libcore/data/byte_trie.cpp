// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/byte_trie.h"

#include <algorithm>

namespace convoy::data {
namespace {

constexpr std::uint32_t kBytes = 256;

struct Node {
  std::uint32_t unit;
  std::size_t first, last;  // of the sorted keys, those that begin with the node's bytes
  std::size_t depth;
};

}  // namespace

ByteTrie::ByteTrie(std::vector<std::pair<std::string, std::int32_t>> keys) : units_(1 + kBytes) {
  std::sort(keys.begin(), keys.end());
  std::vector<Node> waiting{{kRoot, 0, keys.size(), 0}};
  std::vector<unsigned char> labels;
  std::vector<std::size_t> starts;
  while (!waiting.empty()) {
    Node node = waiting.back();
    waiting.pop_back();
    if (node.first < node.last && keys[node.first].first.size() == node.depth) {
      units_[node.unit].value = keys[node.first++].second;
    }
    if (node.first == node.last) continue;
    labels.clear();
    starts.clear();
    for (std::size_t i = node.first; i < node.last; ++i) {
      const auto byte = static_cast<unsigned char>(keys[i].first[node.depth]);
      if (!labels.empty() && labels.back() == byte) continue;
      labels.push_back(byte);
      starts.push_back(i);
    }
    starts.push_back(node.last);
    const std::uint32_t base = place(node.unit, labels);
    for (std::size_t i = 0; i < labels.size(); ++i) waiting.push_back({base + labels[i], starts[i], starts[i + 1], node.depth + 1});
  }
}

// First fit from the first gap on; a region that turned out nearly full is not searched again.
std::uint32_t ByteTrie::place(std::uint32_t parent, const std::vector<unsigned char>& labels) {
  constexpr std::uint32_t kCrowded = 64;  // taken units met before the search's start moves up
  std::uint32_t taken = 0;
  for (std::uint32_t at = std::max<std::uint32_t>(first_gap_, labels.front()); true; ++at) {
    if (at + kBytes >= units_.size()) units_.resize(units_.size() * 2 + kBytes);
    if (at == kRoot || units_[at].parent != kNoParent) {
      if (++taken == kCrowded) first_gap_ = at;
      continue;
    }
    const std::uint32_t base = at - labels.front();
    const auto is_free = [&](unsigned char label) { return base + label != kRoot && units_[base + label].parent == kNoParent; };
    if (!std::all_of(labels.begin(), labels.end(), is_free)) continue;
    units_[parent].base = base;
    for (const unsigned char label : labels) units_[base + label].parent = parent;
    return base;
  }
}

ByteTrie::Match ByteTrie::longest_prefix(std::string_view text) const {
  Match match;
  std::uint32_t node = kRoot;
  for (std::size_t i = 0; i < text.size() && step(node, static_cast<unsigned char>(text[i])); ++i) {
    if (value(node) != kNoValue) match = {i + 1, value(node)};
  }
  return match;
}

}  // namespace convoy::data
