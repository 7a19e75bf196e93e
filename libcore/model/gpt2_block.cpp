// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/gpt2_block.h"

#include <fmt/format.h>

#include "libcore/ops/activation.h"

namespace convoy::model {

using tensor::MutableView;
using tensor::View;

Gpt2Block make_gpt2_block(device::Stream& stream, const Config& config, Parameters& parameters, std::int64_t layer,
                          const Shard& shard) {
  const std::string prefix = fmt::format("transformer.h.{}.", layer);
  const auto linear = [&](const std::vector<std::string>& names) {
    return make_linear(stream, parameters, ops::WeightLayout::kInOut, prefix, names, true, shard);
  };
  Gpt2Block block;
  block.ln_1 = make_norm(parameters, config, prefix + "ln_1");
  block.qkv = linear({"attn.q_attn", "attn.k_attn", "attn.v_attn"});
  block.projection = linear({"attn.c_proj"});
  block.ln_2 = make_norm(parameters, config, prefix + "ln_2");
  block.fc = linear({"mlp.c_fc"});
  block.fc_projection = linear({"mlp.c_proj"});
  return block;
}

void plan(Workspace& workspace, Gpt2Activations& activations, const Config& config, std::int64_t rows,
          tensor::DType dtype) {
  plan(workspace, activations.ln_1, config, rows, dtype);
  plan(workspace, activations.attention, config, rows, dtype);
  plan(workspace, activations.ln_2, config, rows, dtype);
  workspace.plan(activations.fc, {rows, config.ffn_width}, dtype);
  workspace.plan(activations.gelu, {rows, config.ffn_width}, dtype);
}

void pack(device::Stream& stream, Gpt2Block& block) {
  for (Linear* layer : {&block.qkv, &block.projection, &block.fc, &block.fc_projection}) pack(stream, *layer);
}

std::size_t packed_bytes(const Gpt2Block& block) {
  return block.qkv.packed.bytes() + block.projection.packed.bytes() + block.fc.packed.bytes() +
         block.fc_projection.packed.bytes();
}

Residual forward(device::Stream& stream, const Config& config, const Gpt2Block& block, const MicroBatch& micro,
                 const Residual& before, Buffers& buffers, Gpt2Activations& saved) {
  const MutableView branch = micro.of(buffers.branch);  // [B T, C]
  forward(stream, block.ln_1, micro, before.sum, before.branch, saved.ln_1);
  forward(stream, block.qkv, micro.of(saved.ln_1.y), micro.of(saved.attention.qkv));
  forward(stream, config, micro, saved.attention);
  forward(stream, block.projection, micro.of(saved.attention.heads), branch);
  forward(stream, block.ln_2, micro, micro.of(saved.ln_1.sum), branch, saved.ln_2);
  ops::linear_forward(stream, {.x = micro.of(saved.ln_2.y),
                               .w = &block.fc.packed,
                               .activation = ops::Activation::kGeluTanh,
                               .preactivation = micro.of(saved.fc),
                               .residual = {},
                               .y = micro.of(saved.gelu)});
  forward(stream, block.fc_projection, micro.of(saved.gelu), branch);
  return {micro.of(saved.ln_2.sum), branch};
}

void backward_ffn_input(device::Stream& stream, const Gpt2Block& block, const MicroBatch& micro, Buffers& buffers,
                        Gpt2Activations& saved, const BlockGradients& gradients) {
  const MutableView dy = micro.of(buffers.dy);       // [B T, C]
  const MutableView dgelu = micro.of(buffers.dffn);  // [B T, F]
  const MutableView dfc = micro.of(saved.fc);        // [B T, F]
  backward_input(stream, block.fc_projection, gradients.behind, dgelu);
  ops::gelu_backward(stream, {.x = dfc, .dy = dgelu, .dx = dfc});
  backward_input(stream, block.fc, dfc, dy);
  backward(stream, block.ln_2, micro, saved.ln_2, dy, gradients.behind, gradients.middle);
}

void backward_ffn_weight(device::Stream& stream, const Gpt2Block& block, const MicroBatch& micro,
                         const Gpt2Activations& saved, const BlockGradients& gradients) {
  backward_weight(stream, block.fc_projection, gradients.behind, micro.of(saved.gelu));
  backward_weight(stream, block.fc, micro.of(saved.fc), micro.of(saved.ln_2.y));
}

void backward_attention_input(device::Stream& stream, const Config& config, const Gpt2Block& block,
                              const MicroBatch& micro, Buffers& buffers, const Gpt2Activations& saved,
                              const BlockGradients& gradients) {
  const MutableView dy = micro.of(buffers.dy), dheads = micro.of(buffers.dheads);  // [B T, C], [B T, H D]
  backward_input(stream, block.projection, gradients.middle, dheads);
  backward(stream, config, micro, saved.attention, dheads, gradients.dqkv);
  backward_input(stream, block.qkv, gradients.dqkv, dy);
  backward(stream, block.ln_1, micro, saved.ln_1, dy, gradients.middle, gradients.before);
}

void backward_attention_weight(device::Stream& stream, const Gpt2Block& block, const MicroBatch& micro,
                               const Gpt2Activations& saved, const BlockGradients& gradients) {
  backward_weight(stream, block.projection, gradients.middle, micro.of(saved.attention.heads));
  backward_weight(stream, block.qkv, gradients.dqkv, micro.of(saved.ln_1.y));
}

}  // namespace convoy::model
