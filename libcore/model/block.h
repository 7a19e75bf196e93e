// SPDX-License-Identifier: Apache-2.0
// What the blocks of both architectures share: the residual stream that runs through them and the buffers of one pass.
#pragma once

#include "libcore/model/attention.h"
#include "libcore/model/workspace.h"

namespace convoy::model {

// The residual stream between two blocks: its last sum, and the branch that the next norm adds to it. Before the first
// block both are absent: the embedding has written the first norm's sum itself.
struct Residual {
  tensor::View sum;     // [B T, C]
  tensor::View branch;  // [B T, C]
};

// Buffers that all blocks use in turn. H, K and F are this rank's.
struct Buffers {
  tensor::MutableView branch;  // [B T, C] forward: the output of a block's attention or feed-forward part
  tensor::MutableView dx;      // [B T, C] gradient of the residual stream, from the last block to the first
  tensor::MutableView dy;      // [B T, C] gradient of a norm's output
  tensor::MutableView dheads;  // [B T, H D] gradient of the attention's output
  tensor::MutableView dqkv;    // [B T, (H + 2K) D]
  tensor::MutableView dffn;    // [B T, F] gradient of the feed-forward part's inner activations
};

// What the input part of a block's backward leaves for its weight part, beside what it leaves in place of the
// activations. Whoever runs the parts of several blocks or half-blocks one after the other chooses how long it lives.
struct BlockGradients {
  tensor::MutableView behind;  // [B T, C] in: gradient of the stream behind the block
  tensor::MutableView middle;  // [B T, C] between attention and feed-forward part
  tensor::MutableView before;  // [B T, C] of the stream before the block
  tensor::MutableView dqkv;    // [B T, (H + 2K) D]
};

inline void plan(Workspace& workspace, Buffers& buffers, const Config& config, std::int64_t rows, tensor::DType dtype,
                 bool training) {
  workspace.plan(buffers.branch, {rows, config.width}, dtype);
  if (!training) return;
  workspace.plan(buffers.dx, {rows, config.width}, dtype);
  workspace.plan_overlapping(buffers.dy, {rows, config.width}, buffers.dheads, {rows, config.heads * config.head_size},
                             dtype);
  workspace.plan_overlapping(buffers.dqkv, {rows, qkv_width(config)}, buffers.dffn, {rows, config.ffn_width}, dtype);
}

}  // namespace convoy::model
