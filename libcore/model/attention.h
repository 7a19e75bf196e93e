// SPDX-License-Identifier: Apache-2.0
// The attention of a block between its two products: what it keeps, forward and backward. Queries, keys and values lie
// side by side in one buffer, as the product that makes them writes them.
#pragma once

#include "libcore/device/stream.h"
#include "libcore/model/activation_plan.h"
#include "libcore/model/config.h"
#include "libcore/model/micro_batch.h"

namespace convoy::model {

struct AttentionActivations {
  tensor::MutableView qkv;          // [B T, (H + 2K) D] as attention sees them: turned, in Llama
  tensor::MutableView heads;        // [B T, H D]
  tensor::MutableView log_sum_exp;  // [B, H, T] fp32
};

// The columns of the queries, keys and values in a [B T, (H + 2K) D] buffer.
struct QkvColumns {
  tensor::MutableView q, k, v;
};
QkvColumns qkv_columns(const Config& config, const tensor::MutableView& qkv);
std::int64_t qkv_width(const Config& config);

void plan(ActivationPlan& plan, AttentionActivations& activations, const Config& config, std::int64_t rows,
          tensor::DType dtype);

// heads = attention(qkv)
void forward(device::Stream& stream, const Config& config, const MicroBatch& micro, AttentionActivations& saved,
             const ops::AttentionDropout& dropout = {});
// dqkv = gradient of qkv, from dheads [B T, H D]
void backward(device::Stream& stream, const Config& config, const MicroBatch& micro, const AttentionActivations& saved,
              tensor::View dheads, tensor::MutableView dqkv, const ops::AttentionDropout& dropout = {});

}  // namespace convoy::model
