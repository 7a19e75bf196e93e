// SPDX-License-Identifier: Apache-2.0
// What of a model one rank holds: the layers of its stage's chunks, and its share of every matrix (Shoeybi et al.,
// 2019).
#pragma once

#include <span>
#include <vector>

#include "libcore/comm/communicator.h"
#include "libcore/model/parameters.h"
#include "libcore/parallel/groups.h"
#include "libcore/parallel/partial_sums.h"
#include "libcore/parallel/partition.h"

namespace convoy::model {

// One chunk of layers; without virtual stages, all that the rank holds.
struct Shard {
  comm::Communicator* tensor_group = nullptr;  // null: this rank holds whole matrices
  int tensor_rank = 0, tensor_size = 1;
  parallel::Range layers;          // of the model
  bool first = true, last = true;  // holds the embedding; holds the final norm and the head
  bool sequence_parallel = false;  // the rows of the residual stream are split over the group

  // Those who hold the other parts of this rank's matrices; null if there are none.
  comm::Communicator* peers() const { return tensor_size > 1 ? tensor_group : nullptr; }
  comm::Communicator* row_peers() const { return sequence_parallel ? peers() : nullptr; }
  // Of `rows` rows of the residual stream, how many a rank of the group has at most.
  std::int64_t most_own_rows(std::int64_t rows) const {
    return row_peers() == nullptr ? rows : parallel::partition(rows, tensor_size, 0).size();
  }
};

Shard whole_model(const Config& config);
// The chunks of the rank at `at`, in model order; its groups need not exist: to know what another rank holds.
std::vector<Shard> shards_at(const Config& config, const parallel::Layout& layout, const parallel::Coordinates& at);
std::vector<Shard> shards_of(const Config& config, const parallel::Groups& groups);

// The shard's share of heads, key/value heads, ffn width and vocabulary rows: partition() over the TP ranks. Model
// wants heads and key/value heads to divide evenly, so that queries lie with their keys; ffn width and vocabulary need
// not. Where there are fewer key/value heads than ranks, neighbours hold the same one, each with queries of its own:
// the gradient of that head is a sum over them.
parallel::Range heads_of(const Config& config, const Shard& shard);
parallel::Range key_value_heads_of(const Config& config, const Shard& shard);
parallel::Range ffn_of(const Config& config, const Shard& shard);
parallel::Range vocabulary_of(const Config& config, const Shard& shard);

// The configuration with the extents that this rank computes: its heads, key/value heads, ffn width and vocabulary.
Config local_config(const Config& config, const Shard& shard);

// The rank's part of the parameter table, in table order: of one chunk, or of all that it has. With several stages a
// tied embedding stands in the first and in the last stage's table (index 0 in both), `tied_end` set; the first stage's
// is the primary one.
std::vector<LocalParameter> local_parameters(const Config& config, const Shard& shard);
std::vector<LocalParameter> local_parameters(const Config& config, std::span<const Shard> chunks);

// Those of the rank's gradients that parallel::PartialSums adds up.
std::vector<parallel::PartialGradient> partial_gradients(const Parameters& parameters);

}  // namespace convoy::model
