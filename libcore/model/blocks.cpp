// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/blocks.h"

namespace convoy::model {

Blocks make_blocks(device::Stream& stream, const Config& config, Parameters& parameters, const RotaryTable& rotary,
                   bool training) {
  const std::size_t sets = training ? static_cast<std::size_t>(config.layers) : 1;
  if (config.architecture == Architecture::kGpt2) {
    Gpt2Stack stack;
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
      stack.blocks.push_back(make_gpt2_block(stream, config, parameters, layer));
    }
    stack.saved.resize(sets);
    return stack;
  }
  LlamaStack stack;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    stack.blocks.push_back(make_llama_block(stream, config, parameters, layer, rotary));
  }
  stack.saved.resize(sets);
  return stack;
}

void plan(Workspace& workspace, Blocks& blocks, const Config& config, std::int64_t rows, tensor::DType dtype) {
  std::visit(
      [&](auto& stack) {
        for (auto& saved : stack.saved) plan(workspace, saved, config, rows, dtype);
      },
      blocks);
}

void pack(device::Stream& stream, Blocks& blocks) {
  std::visit(
      [&](auto& stack) {
        for (auto& block : stack.blocks) pack(stream, block);
      },
      blocks);
}

std::size_t packed_bytes(const Blocks& blocks) {
  std::size_t bytes = 0;
  std::visit(
      [&](const auto& stack) {
        for (const auto& block : stack.blocks) bytes += packed_bytes(block);
      },
      blocks);
  return bytes;
}

tensor::MutableView input(Blocks& blocks) {
  if (auto* stack = std::get_if<Gpt2Stack>(&blocks)) return stack->saved.front().ln_1.sum;
  return std::get<LlamaStack>(blocks).saved.front().input_norm.sum;
}

Residual forward(device::Stream& stream, const Config& config, Blocks& blocks, const MicroBatch& micro,
                 Buffers& buffers, bool training) {
  Residual residual;
  std::visit(
      [&](auto& stack) {
        for (std::size_t i = 0; i < stack.blocks.size(); ++i) {
          residual = forward(stream, config, stack.blocks[i], micro, residual, buffers, stack.saved_of(i, training));
        }
      },
      blocks);
  return residual;
}

void backward(device::Stream& stream, const Config& config, Blocks& blocks, const MicroBatch& micro, Buffers& buffers) {
  std::visit(
      [&](auto& stack) {
        for (std::size_t i = stack.blocks.size(); i-- > 0;) {
          backward(stream, config, stack.blocks[i], micro, buffers, stack.saved_of(i, true));
        }
      },
      blocks);
}

}  // namespace convoy::model
