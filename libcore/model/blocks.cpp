// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/blocks.h"

namespace convoy::model {
namespace {

// The micro-batch's rows of buffers that were made for the largest one.
BlockGradients cut(const MicroBatch& micro, const BlockGradients& gradients) {
  return {.behind = micro.own_of(gradients.behind),
          .middle = micro.own_of(gradients.middle),
          .before = micro.own_of(gradients.before),
          .dqkv = micro.of(gradients.dqkv)};
}

template <class AnyStack>
void need_for_backward(device::Stream& stream, const AnyStack& stack, std::size_t block) {
  if (stack.hooks.weights_needed) stack.hooks.weights_needed(stream, block, Pass::kBackward);
  if (stack.hooks.gradients_needed) stack.hooks.gradients_needed(block);
}

}  // namespace

Blocks make_blocks(device::Stream& stream, const Config& config, Parameters& parameters, const RotaryTable& rotary,
                   const Shard& shard, const ModelSize& size, int sets) {
  const auto saved = static_cast<std::size_t>(size.training ? sets * shard.layers.size() : sets);
  // Blocks whose weights come and go take turns at their packed forms too.
  const auto share = [&](auto& stack) {
    const std::size_t last = stack.blocks.size() - 1;
    stack.shares_packed = parameters.sharding().weights;
    if (stack.shares_packed && last >= kLayerSlots) share_packed(stack.blocks[last - kLayerSlots], stack.blocks[last]);
  };
  if (config.architecture == Architecture::kGpt2) {
    Gpt2Stack stack{{}, {}, size.recompute};
    for (std::int64_t layer = shard.layers.begin; layer < shard.layers.end; ++layer) {
      stack.blocks.push_back(make_gpt2_block(stream, config, parameters, layer, shard));
      share(stack);
    }
    stack.saved.resize(saved);
    return stack;
  }
  LlamaStack stack{{}, {}, size.recompute};
  for (std::int64_t layer = shard.layers.begin; layer < shard.layers.end; ++layer) {
    stack.blocks.push_back(make_llama_block(stream, config, parameters, layer, rotary, shard));
    share(stack);
  }
  stack.saved.resize(saved);
  return stack;
}

void plan(Workspace& workspace, Blocks& blocks, const Config& config, std::int64_t rows, std::int64_t own_rows,
          tensor::DType dtype) {
  std::visit(
      [&](auto& stack) {
        ActivationPlan sets(workspace, stack.recompute);
        for (auto& saved : stack.saved) {
          plan(sets, saved, config, rows, own_rows, dtype);
          sets.next_set();
        }
      },
      blocks);
}

void set_block_hooks(Blocks& blocks, BlockHooks hooks) {
  std::visit([&](auto& stack) { stack.hooks = std::move(hooks); }, blocks);
}

void pack_block(device::Stream& stream, Blocks& blocks, std::size_t block) {
  std::visit([&](auto& stack) { pack(stream, stack.blocks[block]); }, blocks);
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
        for (std::size_t i = 0; i < stack.blocks.size(); ++i) {
          if (!stack.shares_packed || i < kLayerSlots) bytes += packed_bytes(stack.blocks[i]);
        }
      },
      blocks);
  return bytes;
}

tensor::MutableView input(Blocks& blocks, const MicroBatch& micro, bool saving) {
  if (auto* stack = std::get_if<Gpt2Stack>(&blocks)) return micro.own_of(stack->saved_of(0, micro, saving).ln_1.sum);
  return micro.own_of(std::get<LlamaStack>(blocks).saved_of(0, micro, saving).input_norm.sum);
}

Residual forward(device::Stream& stream, const Config& config, Blocks& blocks, const MicroBatch& micro,
                 Buffers& buffers, bool saving) {
  Residual residual;
  std::visit(
      [&](auto& stack) {
        for (std::size_t i = 0; i < stack.blocks.size(); ++i) {
          if (stack.hooks.weights_needed) stack.hooks.weights_needed(stream, i, Pass::kForward);
          auto& saved = stack.saved_of(i, micro, saving);
          residual = forward(stream, config, stack.blocks[i], micro, residual, buffers, saved);
        }
      },
      blocks);
  return residual;
}

void backward(device::Stream& stream, const Config& config, Blocks& blocks, const MicroBatch& micro, Buffers& buffers,
              const GradientsOfBlock& gradients, const BlockReady& ready) {
  std::visit(
      [&](auto& stack) {
        for (std::size_t i = stack.blocks.size(); i-- > 0;) {
          auto& saved = stack.saved_of(i, micro, true);
          const auto& block = stack.blocks[i];
          const BlockGradients mine = cut(micro, gradients[i]);
          need_for_backward(stream, stack, i);
          remake(stream, config, block, micro, stack.recompute, buffers, saved);
          // Half-block by half-block: mine.before may be the memory of mine.behind.
          backward_ffn_input(stream, block, micro, buffers, saved, mine);
          backward_ffn_weight(stream, block, micro, buffers, saved, mine);
          backward_attention_input(stream, config, block, micro, buffers, saved, mine);
          backward_attention_weight(stream, block, micro, buffers, saved, mine);
          ready(i);
        }
      },
      blocks);
}

void backward_input(device::Stream& stream, const Config& config, Blocks& blocks, const MicroBatch& micro,
                    Buffers& buffers, const GradientsOfBlock& gradients) {
  std::visit(
      [&](auto& stack) {
        for (std::size_t i = stack.blocks.size(); i-- > 0;) {
          auto& saved = stack.saved_of(i, micro, true);
          const BlockGradients mine = cut(micro, gradients[i]);
          need_for_backward(stream, stack, i);
          backward_ffn_input(stream, stack.blocks[i], micro, buffers, saved, mine);
          backward_attention_input(stream, config, stack.blocks[i], micro, buffers, saved, mine);
        }
      },
      blocks);
}

void backward_weight(device::Stream& stream, Blocks& blocks, const MicroBatch& micro, Buffers& buffers,
                     const GradientsOfBlock& gradients, const BlockReady& ready) {
  std::visit(
      [&](auto& stack) {
        for (std::size_t i = stack.blocks.size(); i-- > 0;) {
          const auto& saved = stack.saved_of(i, micro, true);
          const BlockGradients mine = cut(micro, gradients[i]);
          if (stack.hooks.gradients_needed) stack.hooks.gradients_needed(i);
          backward_ffn_weight(stream, stack.blocks[i], micro, buffers, saved, mine);
          backward_attention_weight(stream, stack.blocks[i], micro, buffers, saved, mine);
          ready(i);
        }
      },
      blocks);
}

}  // namespace convoy::model
