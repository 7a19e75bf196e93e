// SPDX-License-Identifier: Apache-2.0
// The way out: final norm, classifier and cross-entropy. Logits are made, used and overwritten in blocks of rows,
// forward and backward, so that those of a whole micro-batch are never held. Over tensor-parallel ranks the vocabulary
// is split: they exchange a maximum, a sum and a target logit a row, and every one of them knows the loss.
#pragma once

#include <vector>

#include "libcore/model/block.h"
#include "libcore/model/linear.h"
#include "libcore/model/model.h"
#include "libcore/model/norm.h"

namespace convoy::model {

struct Head {
  Norm norm;
  Linear classifier;       // [V/tp, C]; the embedding's weight and gradient if tied
  std::int64_t first = 0;  // id of the classifier's first row
  comm::Communicator* peers = nullptr;
};

struct HeadActivations {
  std::vector<NormActivations> norms = std::vector<NormActivations>(1);  // one a set
  bool remake = false;                                                   // they share all but their sums
  tensor::MutableView logits;                                            // [R, V/tp] fp32
  tensor::MutableView dlogits;  // [R, V/tp] compute dtype; the logits themselves in fp32
  tensor::MutableView maximum;  // [R] fp32
  tensor::MutableView sums;     // [2 R] fp32: of a block of N rows, N sums and then N target logits
};

// `config`: of the whole model.
Head make_head(device::Stream& stream, const Config& config, Parameters& parameters, const Shard& shard = {});
void plan(Workspace& workspace, HeadActivations& activations, const Config& config, std::int64_t rows,
          tensor::DType dtype, const ModelSize& size, const Shard& shard = {});

// y of the set's norm = norm(stream)
void forward_norm(device::Stream& stream, const Head& head, const MicroBatch& micro, const Residual& before,
                  HeadActivations& saved);
// The loss alone.
LossSum forward_loss(device::Stream& stream, const Head& head, const MicroBatch& micro, Buffers& buffers,
                     HeadActivations& saved);
// The loss, and dx [R, C] = gradient of the stream before the head. The classifier's and the norm's gradients +=.
LossSum forward_backward_loss(device::Stream& stream, const Head& head, const MicroBatch& micro, float gradient_scale,
                              Buffers& buffers, HeadActivations& saved, tensor::MutableView dx);
// The logits of one row, [V] fp32, where the vocabulary is not split.
void forward_logits(device::Stream& stream, const Head& head, const HeadActivations& saved, std::int64_t row,
                    tensor::MutableView logits);

}  // namespace convoy::model
