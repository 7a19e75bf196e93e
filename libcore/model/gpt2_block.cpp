// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/gpt2_block.h"

#include <fmt/format.h>

#include "libcore/model/sequence_parallel.h"
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
  block.dropout = block_dropout(config, layer, shard);
  return block;
}

void plan(ActivationPlan& plan, Gpt2Activations& activations, const Config& config, std::int64_t rows,
          std::int64_t own_rows, tensor::DType dtype) {
  model::plan(plan, activations.ln_1, config, own_rows, dtype, Remaking::kNever);
  model::plan(plan, activations.attention, config, rows, dtype);
  model::plan(plan, activations.ln_2, config, own_rows, dtype, Remaking::kProduct);
  plan.plan(activations.fc, {rows, config.ffn_width}, dtype, Remaking::kProduct);
  plan.plan(activations.gelu, {rows, config.ffn_width}, dtype, Remaking::kRows);
}

void pack(device::Stream& stream, Gpt2Block& block) {
  for (Linear* layer : {&block.qkv, &block.projection, &block.fc, &block.fc_projection}) pack(stream, *layer);
}

void share_packed(const Gpt2Block& other, Gpt2Block& block) {
  block.qkv.packed = other.qkv.packed;
  block.projection.packed = other.projection.packed;
  block.fc.packed = other.fc.packed;
  block.fc_projection.packed = other.fc_projection.packed;
}

std::size_t packed_bytes(const Gpt2Block& block) {
  return block.qkv.packed.bytes() + block.projection.packed.bytes() + block.fc.packed.bytes() +
         block.fc_projection.packed.bytes();
}

namespace {

// From the stream before the block (absent: ln_1's sum is there) to the inner activations of its feed-forward part.
void forward_to_gelu(device::Stream& stream, const Config& config, const Gpt2Block& block, const MicroBatch& micro,
                     const Residual& before, Buffers& buffers, Gpt2Activations& saved) {
  const MutableView branch = micro.own_of(buffers.branch);  // [R, C]
  forward(stream, block.ln_1, micro, before.sum, before.branch, saved.ln_1);
  forward(stream, block.qkv, all_rows(stream, micro, saved.ln_1.y, buffers.whole), micro.of(saved.attention.qkv));
  forward(stream, config, micro, saved.attention, attention_mask_of(block.dropout, micro));
  forward_to_own_rows(stream, block.projection, micro, micro.of(saved.attention.heads), buffers.whole, buffers.branch);
  drop(stream, block.dropout.attention_branch, micro, branch);
  forward(stream, block.ln_2, micro, micro.own_of(saved.ln_1.sum), branch, saved.ln_2);
  ops::linear_forward(stream, {.x = all_rows(stream, micro, saved.ln_2.y, buffers.whole),
                               .w = &block.fc.packed,
                               .activation = ops::Activation::kGeluTanh,
                               .preactivation = micro.of(saved.fc),
                               .residual = {},
                               .y = micro.of(saved.gelu)});
}

}  // namespace

Residual forward(device::Stream& stream, const Config& config, const Gpt2Block& block, const MicroBatch& micro,
                 const Residual& before, Buffers& buffers, Gpt2Activations& saved) {
  forward_to_gelu(stream, config, block, micro, before, buffers, saved);
  const MutableView branch = micro.own_of(buffers.branch);  // [R, C]
  forward_to_own_rows(stream, block.fc_projection, micro, micro.of(saved.gelu), buffers.whole, buffers.branch);
  drop(stream, block.dropout.ffn_branch, micro, branch);
  return {micro.own_of(saved.ln_2.sum), branch};
}

void remake(device::Stream& stream, const Config& config, const Gpt2Block& block, const MicroBatch& micro,
            Recompute recompute, Buffers& buffers, Gpt2Activations& saved) {
  if (recompute == Recompute::kNone) return;
  if (recompute == Recompute::kFull) return forward_to_gelu(stream, config, block, micro, {}, buffers, saved);
  forward(stream, block.ln_1, micro, {}, {}, saved.ln_1);
  forward(stream, block.ln_2, micro, {}, {}, saved.ln_2);
  ops::gelu_forward(stream, {.x = micro.of(saved.fc), .y = micro.of(saved.gelu)});
}

void backward_ffn_input(device::Stream& stream, const Gpt2Block& block, const MicroBatch& micro, Buffers& buffers,
                        Gpt2Activations& saved, const BlockGradients& gradients) {
  const MutableView dy = micro.own_of(buffers.dy);   // [R, C]
  const MutableView dgelu = micro.of(buffers.dffn);  // [B T, F]
  const MutableView dfc = micro.of(saved.fc);        // [B T, F]
  const MutableView dbranch =
      drop_gradient(stream, block.dropout.ffn_branch, micro, gradients.behind, buffers.dbranch);  // [R, C]
  backward_input(stream, block.fc_projection, all_rows(stream, micro, dbranch, buffers.whole), dgelu);
  ops::gelu_backward(stream, {.x = dfc, .dy = dgelu, .dx = dfc});
  backward_to_own_rows(stream, block.fc, micro, dfc, buffers.whole, buffers.dy);
  backward(stream, block.ln_2, micro, saved.ln_2, dy, gradients.behind, gradients.middle);
}

void backward_ffn_weight(device::Stream& stream, const Gpt2Block& block, const MicroBatch& micro, Buffers& buffers,
                         const Gpt2Activations& saved, const BlockGradients& gradients) {
  const MutableView dbranch =
      drop_gradient(stream, block.dropout.ffn_branch, micro, gradients.behind, buffers.dbranch);  // [R, C]
  backward_weight(stream, block.fc_projection, all_rows(stream, micro, dbranch, buffers.whole), micro.of(saved.gelu));
  backward_weight(stream, block.fc, micro.of(saved.fc), all_rows(stream, micro, saved.ln_2.y, buffers.whole));
}

void backward_attention_input(device::Stream& stream, const Config& config, const Gpt2Block& block,
                              const MicroBatch& micro, Buffers& buffers, const Gpt2Activations& saved,
                              const BlockGradients& gradients) {
  const MutableView dy = micro.own_of(buffers.dy), dheads = micro.of(buffers.dheads);  // [R, C], [B T, H D]
  const MutableView dbranch =
      drop_gradient(stream, block.dropout.attention_branch, micro, gradients.middle, buffers.dbranch);  // [R, C]
  backward_input(stream, block.projection, all_rows(stream, micro, dbranch, buffers.whole), dheads);
  backward(stream, config, micro, saved.attention, dheads, gradients.dqkv, attention_mask_of(block.dropout, micro));
  backward_to_own_rows(stream, block.qkv, micro, gradients.dqkv, buffers.whole, buffers.dy);
  backward(stream, block.ln_1, micro, saved.ln_1, dy, gradients.middle, gradients.before);
}

void backward_attention_weight(device::Stream& stream, const Gpt2Block& block, const MicroBatch& micro,
                               Buffers& buffers, const Gpt2Activations& saved, const BlockGradients& gradients) {
  const MutableView dbranch =
      drop_gradient(stream, block.dropout.attention_branch, micro, gradients.middle, buffers.dbranch);  // [R, C]
  backward_weight(stream, block.projection, all_rows(stream, micro, dbranch, buffers.whole),
                  micro.of(saved.attention.heads));
  backward_weight(stream, block.qkv, gradients.dqkv, all_rows(stream, micro, saved.ln_1.y, buffers.whole));
}

}  // namespace convoy::model
