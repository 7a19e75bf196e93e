// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/llama_block.h"

#include <fmt/format.h>

#include "libcore/model/sequence_parallel.h"
#include "libcore/ops/activation.h"
#include "libcore/ops/rotary.h"

namespace convoy::model {

using tensor::MutableView;
using tensor::View;

LlamaBlock make_llama_block(device::Stream& stream, const Config& config, Parameters& parameters, std::int64_t layer,
                            const RotaryTable& rotary, const Shard& shard) {
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  const auto linear = [&](const std::vector<std::string>& names) {
    const bool has_bias = parameters.contains(prefix + names.front() + ".bias");
    return make_linear(stream, parameters, ops::WeightLayout::kOutIn, prefix, names, has_bias, shard);
  };
  LlamaBlock block;
  block.input_norm = make_norm(parameters, config, prefix + "input_layernorm");
  block.qkv = linear({"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"});
  block.output = linear({"self_attn.o_proj"});
  block.post_attention_norm = make_norm(parameters, config, prefix + "post_attention_layernorm");
  block.gate_up = linear({"mlp.gate_proj", "mlp.up_proj"});
  block.down = linear({"mlp.down_proj"});
  block.rotary = &rotary;
  block.dropout = block_dropout(config, layer, shard);
  return block;
}

void plan(ActivationPlan& plan, LlamaActivations& activations, const Config& config, std::int64_t rows,
          std::int64_t own_rows, tensor::DType dtype) {
  model::plan(plan, activations.input_norm, config, own_rows, dtype, Remaking::kNever);
  model::plan(plan, activations.attention, config, rows, dtype);
  model::plan(plan, activations.post_attention_norm, config, own_rows, dtype, Remaking::kProduct);
  plan.plan(activations.gate_up, {rows, 2 * config.ffn_width}, dtype, Remaking::kProduct);
  plan.plan(activations.swiglu, {rows, config.ffn_width}, dtype, Remaking::kRows);
}

void pack(device::Stream& stream, LlamaBlock& block) {
  for (Linear* layer : {&block.qkv, &block.output, &block.gate_up, &block.down}) pack(stream, *layer);
}

void share_packed(const LlamaBlock& other, LlamaBlock& block) {
  block.qkv.packed = other.qkv.packed;
  block.output.packed = other.output.packed;
  block.gate_up.packed = other.gate_up.packed;
  block.down.packed = other.down.packed;
}

std::size_t packed_bytes(const LlamaBlock& block) {
  return block.qkv.packed.bytes() + block.output.packed.bytes() + block.gate_up.packed.bytes() +
         block.down.packed.bytes();
}

namespace {

// Turns queries and keys by their positions, or back.
void turn(device::Stream& stream, const Config& config, const LlamaBlock& block, const MicroBatch& micro,
          const MutableView& qkv, bool inverse) {
  const QkvColumns columns = qkv_columns(config, qkv);
  for (const MutableView& heads : {columns.q, columns.k}) {
    ops::rotary(stream, {.heads = heads,
                         .head_size = static_cast<int>(config.head_size),
                         .cosine = block.rotary->cosine.view(),
                         .sine = block.rotary->sine.view(),
                         .positions = micro.positions,
                         .inverse = inverse});
  }
}

// From the stream before the block (absent: input_norm's sum is there) to the inner activations of its feed-forward
// part.
void forward_to_swiglu(device::Stream& stream, const Config& config, const LlamaBlock& block, const MicroBatch& micro,
                       const Residual& before, Buffers& buffers, LlamaActivations& saved) {
  const MutableView branch = micro.own_of(buffers.branch);  // [R, C]
  forward(stream, block.input_norm, micro, before.sum, before.branch, saved.input_norm);
  forward(stream, block.qkv, all_rows(stream, micro, saved.input_norm.y, buffers.whole), micro.of(saved.attention.qkv));
  turn(stream, config, block, micro, micro.of(saved.attention.qkv), false);
  forward(stream, config, micro, saved.attention, attention_mask_of(block.dropout, micro));
  forward_to_own_rows(stream, block.output, micro, micro.of(saved.attention.heads), buffers.whole, buffers.branch);
  forward(stream, block.post_attention_norm, micro, micro.own_of(saved.input_norm.sum), branch,
          saved.post_attention_norm);
  forward(stream, block.gate_up, all_rows(stream, micro, saved.post_attention_norm.y, buffers.whole),
          micro.of(saved.gate_up));
  ops::swiglu_forward(stream, {.gate_up = micro.of(saved.gate_up), .y = micro.of(saved.swiglu)});
}

}  // namespace

Residual forward(device::Stream& stream, const Config& config, const LlamaBlock& block, const MicroBatch& micro,
                 const Residual& before, Buffers& buffers, LlamaActivations& saved) {
  forward_to_swiglu(stream, config, block, micro, before, buffers, saved);
  forward_to_own_rows(stream, block.down, micro, micro.of(saved.swiglu), buffers.whole, buffers.branch);
  return {micro.own_of(saved.post_attention_norm.sum), micro.own_of(buffers.branch)};
}

void remake(device::Stream& stream, const Config& config, const LlamaBlock& block, const MicroBatch& micro,
            Recompute recompute, Buffers& buffers, LlamaActivations& saved) {
  if (recompute == Recompute::kNone) return;
  if (recompute == Recompute::kFull) return forward_to_swiglu(stream, config, block, micro, {}, buffers, saved);
  forward(stream, block.input_norm, micro, {}, {}, saved.input_norm);
  forward(stream, block.post_attention_norm, micro, {}, {}, saved.post_attention_norm);
  ops::swiglu_forward(stream, {.gate_up = micro.of(saved.gate_up), .y = micro.of(saved.swiglu)});
}

void backward_ffn_input(device::Stream& stream, const LlamaBlock& block, const MicroBatch& micro, Buffers& buffers,
                        LlamaActivations& saved, const BlockGradients& gradients) {
  const MutableView dy = micro.own_of(buffers.dy);       // [R, C]
  const MutableView dswiglu = micro.of(buffers.dffn);    // [B T, F]
  const MutableView dgate_up = micro.of(saved.gate_up);  // [B T, 2F]
  backward_input(stream, block.down, all_rows(stream, micro, gradients.behind, buffers.whole), dswiglu);
  ops::swiglu_backward(stream, {.gate_up = dgate_up, .dy = dswiglu, .dgate_up = dgate_up});
  backward_to_own_rows(stream, block.gate_up, micro, dgate_up, buffers.whole, buffers.dy);
  backward(stream, block.post_attention_norm, micro, saved.post_attention_norm, dy, gradients.behind, gradients.middle);
}

void backward_ffn_weight(device::Stream& stream, const LlamaBlock& block, const MicroBatch& micro, Buffers& buffers,
                         const LlamaActivations& saved, const BlockGradients& gradients) {
  backward_weight(stream, block.down, all_rows(stream, micro, gradients.behind, buffers.whole), micro.of(saved.swiglu));
  backward_weight(stream, block.gate_up, micro.of(saved.gate_up),
                  all_rows(stream, micro, saved.post_attention_norm.y, buffers.whole));
}

void backward_attention_input(device::Stream& stream, const Config& config, const LlamaBlock& block,
                              const MicroBatch& micro, Buffers& buffers, const LlamaActivations& saved,
                              const BlockGradients& gradients) {
  const MutableView dy = micro.own_of(buffers.dy), dheads = micro.of(buffers.dheads);  // [R, C], [B T, H D]
  backward_input(stream, block.output, all_rows(stream, micro, gradients.middle, buffers.whole), dheads);
  backward(stream, config, micro, saved.attention, dheads, gradients.dqkv, attention_mask_of(block.dropout, micro));
  turn(stream, config, block, micro, gradients.dqkv, true);
  backward_to_own_rows(stream, block.qkv, micro, gradients.dqkv, buffers.whole, buffers.dy);
  backward(stream, block.input_norm, micro, saved.input_norm, dy, gradients.middle, gradients.before);
}

void backward_attention_weight(device::Stream& stream, const LlamaBlock& block, const MicroBatch& micro,
                               Buffers& buffers, const LlamaActivations& saved, const BlockGradients& gradients) {
  backward_weight(stream, block.output, all_rows(stream, micro, gradients.middle, buffers.whole),
                  micro.of(saved.attention.heads));
  backward_weight(stream, block.qkv, gradients.dqkv, all_rows(stream, micro, saved.input_norm.y, buffers.whole));
}

}  // namespace convoy::model
