// SPDX-License-Identifier: Apache-2.0
// What every part of the network knows of the micro-batch at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "libcore/comm/communicator.h"
#include "libcore/model/dropout.h"
#include "libcore/parallel/partition.h"
#include "libcore/tensor/view.h"

namespace convoy::model {

struct MicroBatch {
  std::int64_t batch = 0;                             // B
  std::int64_t sequence = 0;                          // T
  tensor::View tokens;                                // [B T] i32
  tensor::View targets;                               // [B T] i32; absent when only logits are wanted
  tensor::View positions;                             // [B T] i32, in the row's own document
  std::size_t set = 0;                                // of the activations that are kept for it
  std::optional<DropoutDraw> dropout = std::nullopt;  // absent: nothing is dropped
  bool documents = false;                             // attention stops at the borders that `positions` shows

  // Under sequence parallelism: the ranks that share the rows of the residual stream, this one's, and how many elements
  // of a [B T, C] tensor each has. Else null, and this rank has all rows.
  comm::Communicator* row_peers = nullptr;
  parallel::Range own = {};
  std::span<const std::int64_t> shares = {};

  std::int64_t rows() const { return batch * sequence; }
  parallel::Range own_rows() const { return row_peers == nullptr ? parallel::Range{0, rows()} : own; }
  // The first rows() rows of a buffer made for the largest micro-batch; and those of one that holds a rank's own rows.
  tensor::MutableView of(const tensor::MutableView& buffer) const { return tensor::rows_of(buffer, 0, rows()); }
  tensor::MutableView own_of(const tensor::MutableView& buffer) const {
    return tensor::rows_of(buffer, 0, own_rows().size());
  }
  tensor::View attention_positions() const { return documents ? positions : tensor::View{}; }
};

}  // namespace convoy::model
