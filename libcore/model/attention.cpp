// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/attention.h"

#include <cmath>

#include "libcore/ops/attention.h"

namespace convoy::model {
namespace {

using tensor::MutableView;
using tensor::View;

ops::AttentionShape attention_shape(const Config& config, const MicroBatch& micro) {
  return {.batch = micro.batch,
          .sequence = micro.sequence,
          .query_heads = static_cast<int>(config.heads),
          .key_value_heads = static_cast<int>(config.key_value_heads),
          .head_size = static_cast<int>(config.head_size),
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_size)))};
}

// The start of the buffer, [B, H, T] of this micro-batch.
MutableView log_sum_exp(const Config& config, const MicroBatch& micro, const AttentionActivations& saved) {
  return {saved.log_sum_exp.data, tensor::DType::kF32, {micro.batch, config.heads, micro.sequence}, 0};
}

}  // namespace

std::int64_t qkv_width(const Config& config) { return (config.heads + 2 * config.key_value_heads) * config.head_size; }

QkvColumns qkv_columns(const Config& config, const MutableView& qkv) {
  const std::int64_t k = config.heads * config.head_size, v = k + config.key_value_heads * config.head_size;
  return {tensor::columns_of(qkv, 0, k), tensor::columns_of(qkv, k, v), tensor::columns_of(qkv, v, qkv_width(config))};
}

void plan(ActivationPlan& plan, AttentionActivations& activations, const Config& config, std::int64_t rows,
          tensor::DType dtype) {
  plan.plan(activations.qkv, {rows, qkv_width(config)}, dtype, Remaking::kProduct);
  plan.plan(activations.heads, {rows, config.heads * config.head_size}, dtype, Remaking::kProduct);
  plan.plan(activations.log_sum_exp, {rows * config.heads}, tensor::DType::kF32, Remaking::kProduct);
}

void forward(device::Stream& stream, const Config& config, const MicroBatch& micro, AttentionActivations& saved,
             const ops::AttentionDropout& dropout) {
  const QkvColumns x = qkv_columns(config, micro.of(saved.qkv));
  ops::attention_forward(stream, {.shape = attention_shape(config, micro),
                                  .q = x.q,
                                  .k = x.k,
                                  .v = x.v,
                                  .positions = micro.attention_positions(),
                                  .y = micro.of(saved.heads),
                                  .log_sum_exp = log_sum_exp(config, micro, saved),
                                  .dropout = dropout});
}

void backward(device::Stream& stream, const Config& config, const MicroBatch& micro, const AttentionActivations& saved,
              View dheads, MutableView dqkv, const ops::AttentionDropout& dropout) {
  const QkvColumns x = qkv_columns(config, micro.of(saved.qkv)), dx = qkv_columns(config, dqkv);
  ops::attention_backward(stream, {.shape = attention_shape(config, micro),
                                   .q = x.q,
                                   .k = x.k,
                                   .v = x.v,
                                   .positions = micro.attention_positions(),
                                   .y = micro.of(saved.heads),
                                   .log_sum_exp = log_sum_exp(config, micro, saved),
                                   .dy = dheads,
                                   .dq = dx.q,
                                   .dk = dx.k,
                                   .dv = dx.v,
                                   .dropout = dropout});
}

}  // namespace convoy::model
