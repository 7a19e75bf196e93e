// SPDX-License-Identifier: Apache-2.0
// What the replicas share of each parameter, the stages of ZeRO (Rajbhandari et al., 2020). Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libcore/parallel/partition.h"

namespace convoy::parallel {

// A replica's share of a tensor is its flat_partition(). One replica shares with nobody: nothing is set then.
struct Sharding {
  int ranks = 1, rank = 0;
  bool states = false;     // from ZeRO 1 on: each updates its share, and keeps the optimizer's states of it alone
  bool gradients = false;  // ZeRO 2: and keeps the gradients' sums of it alone
  bool weights = false;    // ZeRO 3: and the weights; they are gathered while a pass runs, so that gradients which are
                           // not shared are summed over the replicas when it is over

  // The flat range of a tensor of `count` elements that this rank updates.
  Range share(std::int64_t count) const { return states ? flat_partition(count, ranks, rank) : Range{0, count}; }
};

// Of ZeRO 0 to 3.
Sharding sharding_of(int zero, int ranks, int rank);

// Neighbours in a table of parameters that are computed with at a time: the embeddings, a layer, the head. Layers take
// turns at the same memory, which has room for `slot` 0, 1, ..; -1: the unit has room of its own.
struct Unit {
  std::size_t begin = 0, end = 0;  // parameters
  int slot = -1;
};

}  // namespace convoy::parallel
