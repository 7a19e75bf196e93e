// SPDX-License-Identifier: Apache-2.0
// One block of Llama (Touvron et al., 2023): x + attention(norm(x)) with rotary positions and grouped key/value heads,
// then x + down(silu(gate(norm(x))) * up(norm(x))). Matrices lie [out, in].
#pragma once

#include "libcore/model/block.h"
#include "libcore/model/dropout.h"
#include "libcore/model/linear.h"
#include "libcore/model/norm.h"
#include "libcore/model/rotary_table.h"

namespace convoy::model {

struct LlamaBlock {
  Norm input_norm, post_attention_norm;
  Linear qkv;      // [(H + 2K) D, C]
  Linear output;   // [C, H D]
  Linear gate_up;  // [2F, C]
  Linear down;     // [C, F]
  BlockDropout dropout;
  const RotaryTable* rotary = nullptr;  // the model's, shared by all blocks
};

// What backward reads of forward. One set a block and micro-batch in training, of which activation_plan.h says what is
// kept; one for all blocks else.
struct LlamaActivations {
  NormActivations input_norm;
  AttentionActivations attention;
  NormActivations post_attention_norm;
  tensor::MutableView gate_up;  // [B T, 2F]; backward overwrites it with its gradient
  tensor::MutableView swiglu;   // [B T, F]
};

LlamaBlock make_llama_block(device::Stream& stream, const Config& config, Parameters& parameters, std::int64_t layer,
                            const RotaryTable& rotary, const Shard& shard);
void plan(ActivationPlan& plan, LlamaActivations& activations, const Config& config, std::int64_t rows,
          std::int64_t own_rows, tensor::DType dtype);
void pack(device::Stream& stream, LlamaBlock& block);
std::size_t packed_bytes(const LlamaBlock& block);
// `block` takes turns at the packed forms of `other`, a block of the same shapes.
void share_packed(const LlamaBlock& other, LlamaBlock& block);

// Returns the stream behind the block.
Residual forward(device::Stream& stream, const Config& config, const LlamaBlock& block, const MicroBatch& micro,
                 const Residual& before, Buffers& buffers, LlamaActivations& saved);
// Makes the rest of `saved` again out of what was kept, for a backward pass whose two halves follow. With kFull,
// buffers.branch is used.
void remake(device::Stream& stream, const Config& config, const LlamaBlock& block, const MicroBatch& micro,
            Recompute recompute, Buffers& buffers, LlamaActivations& saved);
// Backward in four parts, which blocks.cpp puts together. The input parts: gradients of the stream in the middle of the
// block, then before it; the norms' own are added on the way. The weight parts need what the input part of the same
// half left in `gradients` and `saved`.
void backward_ffn_input(device::Stream& stream, const LlamaBlock& block, const MicroBatch& micro, Buffers& buffers,
                        LlamaActivations& saved, const BlockGradients& gradients);
void backward_ffn_weight(device::Stream& stream, const LlamaBlock& block, const MicroBatch& micro, Buffers& buffers,
                         const LlamaActivations& saved, const BlockGradients& gradients);
void backward_attention_input(device::Stream& stream, const Config& config, const LlamaBlock& block,
                              const MicroBatch& micro, Buffers& buffers, const LlamaActivations& saved,
                              const BlockGradients& gradients);
void backward_attention_weight(device::Stream& stream, const LlamaBlock& block, const MicroBatch& micro,
                               Buffers& buffers, const LlamaActivations& saved, const BlockGradients& gradients);

}  // namespace convoy::model
