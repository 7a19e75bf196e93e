// SPDX-License-Identifier: Apache-2.0
// The stack of blocks of either architecture, and the activations that it keeps. Written over a range of layers, so
// that a pipeline stage can run its own.
#pragma once

#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "libcore/model/gpt2_block.h"
#include "libcore/model/llama_block.h"
#include "libcore/model/model.h"

namespace convoy::model {

enum class Pass { kForward, kBackward };

// Called before a pass reads the weights of a block or adds to its gradients; empty where they are always here.
struct BlockHooks {
  std::function<void(device::Stream& stream, std::size_t block, Pass pass)> weights_needed;
  std::function<void(std::size_t block)> gradients_needed;
};

// A rank's blocks, and what they keep: in training a set of activations for every block and micro-batch in flight, set
// by set; else one a micro-batch, which serves all blocks in turn. What is not kept is made again in the memory of the
// first set, so a block's backward runs at one go.
template <class Block, class Activations>
struct Stack {
  std::vector<Block> blocks;
  std::vector<Activations> saved;
  Recompute recompute = Recompute::kNone;
  bool shares_packed = false;  // block i those of block i - kLayerSlots
  BlockHooks hooks = {};

  Activations& saved_of(std::size_t block, const MicroBatch& micro, bool saving) {
    return saved[saving ? micro.set * blocks.size() + block : micro.set];
  }
};

using Gpt2Stack = Stack<Gpt2Block, Gpt2Activations>;
using LlamaStack = Stack<LlamaBlock, LlamaActivations>;
using Blocks = std::variant<Gpt2Stack, LlamaStack>;

// The blocks of shard.layers, with the sets of activations that `size` asks for a chunk with `sets`. `config`: of the
// whole model here, of this rank's extents in all that follows.
Blocks make_blocks(device::Stream& stream, const Config& config, Parameters& parameters, const RotaryTable& rotary,
                   const Shard& shard, const ModelSize& size, int sets);
void plan(Workspace& workspace, Blocks& blocks, const Config& config, std::int64_t rows, std::int64_t own_rows,
          tensor::DType dtype);
void set_block_hooks(Blocks& blocks, BlockHooks hooks);
void pack(device::Stream& stream, Blocks& blocks);
void pack_block(device::Stream& stream, Blocks& blocks, std::size_t block);
std::size_t packed_bytes(const Blocks& blocks);

// The first norm's sum, which the embedding or the stage before writes. `saving` false: one set of activations serves
// all blocks.
tensor::MutableView input(Blocks& blocks, const MicroBatch& micro, bool saving);
Residual forward(device::Stream& stream, const Config& config, Blocks& blocks, const MicroBatch& micro,
                 Buffers& buffers, bool saving);

// gradients[i] of block i, and what is called when block i's weights have theirs.
using GradientsOfBlock = std::vector<BlockGradients>;
using BlockReady = std::function<void(std::size_t block)>;

// From the last block to the first, making again what was not kept. In: gradients.behind of the last; out:
// gradients.before of the first.
void backward(device::Stream& stream, const Config& config, Blocks& blocks, const MicroBatch& micro, Buffers& buffers,
              const GradientsOfBlock& gradients, const BlockReady& ready);
// Its two parts, one over all blocks after the other: where everything is kept.
void backward_input(device::Stream& stream, const Config& config, Blocks& blocks, const MicroBatch& micro,
                    Buffers& buffers, const GradientsOfBlock& gradients);
void backward_weight(device::Stream& stream, Blocks& blocks, const MicroBatch& micro, Buffers& buffers,
                     const GradientsOfBlock& gradients, const BlockReady& ready);

}  // namespace convoy::model
