// SPDX-License-Identifier: Apache-2.0
// Which indices of a rank's parameter table belong to the embeddings, the blocks and the head of one of its chunks:
// what backward reports when their gradients are final.
#pragma once

#include <cstddef>
#include <vector>

#include "libcore/model/model.h"

namespace convoy::model {

struct IndexRange {
  std::size_t begin = 0, end = 0;
};

struct TableParts {
  std::size_t embeddings = 0;      // [0, embeddings): the token embedding first
  std::vector<IndexRange> blocks;  // of the chunk's layers in order
  IndexRange head;                 // final norm, and classifier unless tied
};

// `table`: the rank's, of all its chunks. `shard`: one of these.
TableParts parts_of(const std::vector<LocalParameter>& table, const Shard& shard, std::int64_t layers);

// Each calls ready(begin, end) for what it names; `ready` may be empty.
void report_block(const TableParts& parts, std::size_t block, const GradientsReady& ready);
// With the last stage's copy of a tied embedding.
void report_head(const TableParts& parts, const Shard& shard, const GradientsReady& ready);
// The token embedding last, and alone.
void report_embeddings(const TableParts& parts, const GradientsReady& ready);

}  // namespace convoy::model
