// SPDX-License-Identifier: Apache-2.0
// One block of GPT-2 (Radford et al., 2019): x + attention(ln_1(x)), then x + mlp(ln_2(x)). Matrices lie [in, out].
#pragma once

#include "libcore/model/block.h"
#include "libcore/model/dropout.h"
#include "libcore/model/linear.h"
#include "libcore/model/norm.h"

namespace convoy::model {

struct Gpt2Block {
  Norm ln_1, ln_2;
  Linear qkv;            // [C, 3C]
  Linear projection;     // [C, C]
  Linear fc;             // [C, F]
  Linear fc_projection;  // [F, C]
  BlockDropout dropout;
};

// What backward reads of forward. One set a block and micro-batch in training, of which activation_plan.h says what is
// kept; one for all blocks else.
struct Gpt2Activations {
  NormActivations ln_1;
  AttentionActivations attention;
  NormActivations ln_2;
  tensor::MutableView fc;    // [B T, F] before GELU; backward overwrites it with its gradient
  tensor::MutableView gelu;  // [B T, F]
};

Gpt2Block make_gpt2_block(device::Stream& stream, const Config& config, Parameters& parameters, std::int64_t layer,
                          const Shard& shard);
void plan(ActivationPlan& plan, Gpt2Activations& activations, const Config& config, std::int64_t rows,
          std::int64_t own_rows, tensor::DType dtype);
void pack(device::Stream& stream, Gpt2Block& block);
std::size_t packed_bytes(const Gpt2Block& block);
// `block` takes turns at the packed forms of `other`, a block of the same shapes.
void share_packed(const Gpt2Block& other, Gpt2Block& block);

// Returns the stream behind the block.
Residual forward(device::Stream& stream, const Config& config, const Gpt2Block& block, const MicroBatch& micro,
                 const Residual& before, Buffers& buffers, Gpt2Activations& saved);
// Makes the rest of `saved` again out of what was kept, for a backward pass whose two halves follow. With kFull,
// buffers.branch is used.
void remake(device::Stream& stream, const Config& config, const Gpt2Block& block, const MicroBatch& micro,
            Recompute recompute, Buffers& buffers, Gpt2Activations& saved);
// Backward in four parts, which blocks.cpp puts together. The input parts: gradients of the stream in the middle of the
// block, then before it; the norms' own are added on the way. The weight parts need what the input part of the same
// half left in `gradients` and `saved`.
void backward_ffn_input(device::Stream& stream, const Gpt2Block& block, const MicroBatch& micro, Buffers& buffers,
                        Gpt2Activations& saved, const BlockGradients& gradients);
void backward_ffn_weight(device::Stream& stream, const Gpt2Block& block, const MicroBatch& micro, Buffers& buffers,
                         const Gpt2Activations& saved, const BlockGradients& gradients);
void backward_attention_input(device::Stream& stream, const Config& config, const Gpt2Block& block,
                              const MicroBatch& micro, Buffers& buffers, const Gpt2Activations& saved,
                              const BlockGradients& gradients);
void backward_attention_weight(device::Stream& stream, const Gpt2Block& block, const MicroBatch& micro,
                               Buffers& buffers, const Gpt2Activations& saved, const BlockGradients& gradients);

}  // namespace convoy::model
