// SPDX-License-Identifier: Apache-2.0
// What the blocks of both architectures share: the residual stream that runs through them and the buffers of one pass.
#pragma once

#include "libcore/model/attention.h"
#include "libcore/model/workspace.h"

namespace convoy::model {

// The residual stream between two blocks: its last sum, and the branch that the next norm adds to it. Before the first
// block both are absent: the embedding has written the first norm's sum itself.
struct Residual {
  tensor::View sum;     // [R, C]
  tensor::View branch;  // [R, C]
};

// Buffers that all blocks use in turn. H, K and F are this rank's. R: the rank's rows of the stream, B T unless they
// are split.
struct Buffers {
  tensor::MutableView branch;   // [R, C] forward: the output of a block's attention or feed-forward part
  tensor::MutableView dx;       // [R, C] gradient of the residual stream, from the last block to the first
  tensor::MutableView dy;       // [B T, C] gradient of a norm's output, of which R rows are used but in the head
  tensor::MutableView dheads;   // [B T, H D] gradient of the attention's output
  tensor::MutableView dqkv;     // [B T, (H + 2K) D]
  tensor::MutableView dffn;     // [B T, F] gradient of the feed-forward part's inner activations
  tensor::MutableView dbranch;  // [R, C] with dropout: gradient of a half-block's branch
  tensor::MutableView whole;    // [B T, C] where rows are split: those of all ranks, or what is summed over them
};

// What the input part of a block's backward leaves for its weight part, beside what it leaves in place of the
// activations. Whoever runs the parts of several blocks or half-blocks one after the other chooses how long it lives.
struct BlockGradients {
  tensor::MutableView behind;  // [R, C] in: gradient of the stream behind the block
  tensor::MutableView middle;  // [R, C] between attention and feed-forward part
  tensor::MutableView before;  // [R, C] of the stream before the block
  tensor::MutableView dqkv;    // [B T, (H + 2K) D]
};

// `own_rows`: R of the largest micro-batch. `split`: the rows are.
inline void plan(Workspace& workspace, Buffers& buffers, const Config& config, std::int64_t rows, std::int64_t own_rows,
                 bool split, tensor::DType dtype, bool training) {
  workspace.plan(buffers.branch, {own_rows, config.width}, dtype);
  if (split) workspace.plan(buffers.whole, {rows, config.width}, dtype);
  if (!training) return;
  workspace.plan(buffers.dx, {own_rows, config.width}, dtype);
  if (config.dropout.residual > 0.0) workspace.plan(buffers.dbranch, {own_rows, config.width}, dtype);
  workspace.plan_overlapping(buffers.dy, {rows, config.width}, buffers.dheads, {rows, config.heads * config.head_size},
                             dtype);
  workspace.plan_overlapping(buffers.dqkv, {rows, qkv_width(config)}, buffers.dffn, {rows, config.ffn_width}, dtype);
}

}  // namespace convoy::model
