// SPDX-License-Identifier: Apache-2.0
// Where the network drops values, and what its masks are drawn from. As Hugging Face's models do: GPT-2 of the sum of
// the embeddings, of the probabilities of attention, and of the two branches of a block before they are added to the
// stream; Llama and its descendants of the probabilities alone. Masks are made anew wherever they are needed
// (ops/dropout.h).
#pragma once

#include <cstdint>

#include "libcore/model/shard.h"
#include "libcore/ops/attention.h"
#include "libcore/ops/dropout.h"

namespace convoy::model {

struct MicroBatch;

// Part of what every mask is drawn from: never renumber.
enum class DropoutSite : std::uint64_t { kEmbedding = 0, kAttention = 1, kAttentionBranch = 2, kFfnBranch = 3 };

// One place of the network where values are dropped; rate 0: none are.
struct DropoutPlace {
  double rate = 0.0;
  DropoutSite site = DropoutSite::kEmbedding;
  std::int64_t layer = 0;  // of the whole model
};

// Those of a block.
struct BlockDropout {
  DropoutPlace attention, attention_branch, ffn_branch;
  std::int64_t first_head = 0;  // of this rank, in the whole model
};
BlockDropout block_dropout(const Config& config, std::int64_t layer, const Shard& shard);

// The step of a run that a micro-batch belongs to, and where it lies in that step's global batch.
struct DropoutDraw {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t first_slot = 0;  // of the micro-batch's first sequence
};

// Absent where the rate is 0, and where nothing is dropped of the micro-batch (evaluation).
ops::Dropout mask_of(const DropoutPlace& place, const MicroBatch& micro);
ops::AttentionDropout attention_mask_of(const BlockDropout& dropout, const MicroBatch& micro);

// Drops of this rank's own rows [R, C] of a stream or branch, in place; likewise of their gradients.
void drop(device::Stream& stream, const DropoutPlace& place, const MicroBatch& micro, const tensor::MutableView& rows);
// The gradient before the place from the one behind it, which stays: in `room` [R, C], or dy itself where nothing is
// dropped.
tensor::MutableView drop_gradient(device::Stream& stream, const DropoutPlace& place, const MicroBatch& micro,
                                  const tensor::MutableView& dy, const tensor::MutableView& room);

}  // namespace convoy::model
