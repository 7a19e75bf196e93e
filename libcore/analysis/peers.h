// SPDX-License-Identifier: Apache-2.0
// Whose work is comparable. Ranks do the same work where they hold the same pipeline stage and the same tensor
// position, so the replicas of data parallelism are peers; where those are few, the whole tensor groups of the stage
// are. Stages are never mixed: their work differs by design. Pure.
#pragma once

#include <string>
#include <vector>

#include "libcore/trace/format.h"

namespace convoy::analysis {

struct Layout {
  int tensor = 1, pipeline = 1, data = 1;
  int world() const { return tensor * pipeline * data; }
  bool operator==(const Layout&) const = default;
};
Layout layout_of(const trace::Header& header);

inline constexpr int kEnoughPeers = 5;  // replicas, from which on tensor siblings are not needed

struct PeerSet {
  int pipeline = 0;
  int tensor = 0;  // -1: all positions
  std::vector<int> ranks;
};

// A rank of the run; `present` where its trace could be read.
struct RankPlace {
  trace::Coordinates at;
  std::string host;
  bool present = false;
};

// Sets of the present ranks; each rank is in exactly one. A set of one rank has nobody to compare with.
std::vector<PeerSet> peer_sets(const Layout& layout, const std::vector<RankPlace>& ranks);

// How many ranks a set has when all traces are there.
int expected_size(const Layout& layout, const PeerSet& set);

}  // namespace convoy::analysis
