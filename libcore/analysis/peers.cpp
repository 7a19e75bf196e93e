// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/peers.h"

#include <map>
#include <utility>

namespace convoy::analysis {

Layout layout_of(const trace::Header& header) {
  return {.tensor = header.tensor, .pipeline = header.pipeline, .data = header.data};
}

std::vector<PeerSet> peer_sets(const Layout& layout, const std::vector<RankPlace>& ranks) {
  const bool whole_groups = layout.data < kEnoughPeers;
  std::map<std::pair<int, int>, PeerSet> sets;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].present) continue;
    const int pipeline = ranks[rank].at.pipeline;
    const int tensor = whole_groups ? -1 : ranks[rank].at.tensor;
    PeerSet& set = sets[{pipeline, tensor}];
    set.pipeline = pipeline;
    set.tensor = tensor;
    set.ranks.push_back(static_cast<int>(rank));
  }
  std::vector<PeerSet> result;
  for (auto& [key, set] : sets) result.push_back(std::move(set));
  return result;
}

int expected_size(const Layout& layout, const PeerSet& set) {
  return set.tensor < 0 ? layout.data * layout.tensor : layout.data;
}

}  // namespace convoy::analysis
