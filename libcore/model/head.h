// SPDX-License-Identifier: Apache-2.0
// The way out: final norm, classifier and cross-entropy. Logits are made, used and overwritten in blocks of rows,
// forward and backward, so that those of a whole micro-batch are never held.
#pragma once

#include "libcore/model/block.h"
#include "libcore/model/linear.h"
#include "libcore/model/model.h"
#include "libcore/model/norm.h"

namespace convoy::model {

struct Head {
  Norm norm;
  Linear classifier;  // [V, C]; the embedding's weight and gradient if tied
};

struct HeadActivations {
  NormActivations norm;
  tensor::MutableView logits;        // [R, V] fp32
  tensor::MutableView dlogits;       // [R, V] compute dtype; the logits themselves in fp32
  tensor::MutableView maximum;       // [R] fp32
  tensor::MutableView sum;           // [R] fp32
  tensor::MutableView target_logit;  // [R] fp32
};

Head make_head(device::Stream& stream, const Config& config, Parameters& parameters);
void plan(Workspace& workspace, HeadActivations& activations, const Config& config, std::int64_t rows,
          tensor::DType dtype, bool training);

// saved.norm.y = norm(stream)
void forward_norm(device::Stream& stream, const Head& head, const MicroBatch& micro, const Residual& before,
                  HeadActivations& saved);
// The loss alone.
LossSum forward_loss(device::Stream& stream, const Head& head, const MicroBatch& micro, HeadActivations& saved);
// The loss, and buffers.dx = gradient of the stream before the head. The classifier's and the norm's gradients +=.
LossSum forward_backward_loss(device::Stream& stream, const Head& head, const MicroBatch& micro, float gradient_scale,
                              Buffers& buffers, HeadActivations& saved);
// The logits of one row, [V] fp32.
void forward_logits(device::Stream& stream, const Head& head, const HeadActivations& saved, std::int64_t row,
                    tensor::MutableView logits);

}  // namespace convoy::model
