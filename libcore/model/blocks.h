// SPDX-License-Identifier: Apache-2.0
// The stack of blocks of either architecture, and the activations that it keeps. Written over a range of layers, so
// that a pipeline stage can run its own.
#pragma once

#include <variant>
#include <vector>

#include "libcore/model/gpt2_block.h"
#include "libcore/model/llama_block.h"

namespace convoy::model {

template <class Block, class Activations>
struct Stack {
  std::vector<Block> blocks;
  std::vector<Activations> saved;  // one a block in training, one in all else

  Activations& saved_of(std::size_t block, bool training) { return saved[training ? block : 0]; }
};

using Gpt2Stack = Stack<Gpt2Block, Gpt2Activations>;
using LlamaStack = Stack<LlamaBlock, LlamaActivations>;
using Blocks = std::variant<Gpt2Stack, LlamaStack>;

Blocks make_blocks(device::Stream& stream, const Config& config, Parameters& parameters, const RotaryTable& rotary,
                   bool training);
void plan(Workspace& workspace, Blocks& blocks, const Config& config, std::int64_t rows, tensor::DType dtype);
void pack(device::Stream& stream, Blocks& blocks);
std::size_t packed_bytes(const Blocks& blocks);

// The first norm's sum, which the embedding writes. `training` false: one set of activations serves all blocks.
tensor::MutableView input(Blocks& blocks);
Residual forward(device::Stream& stream, const Config& config, Blocks& blocks, const MicroBatch& micro,
                 Buffers& buffers, bool training);
// buffers.dx: in, the gradient of the stream behind the last block; out, of the stream before the first.
void backward(device::Stream& stream, const Config& config, Blocks& blocks, const MicroBatch& micro, Buffers& buffers);

}  // namespace convoy::model
