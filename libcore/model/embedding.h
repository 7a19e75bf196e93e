// SPDX-License-Identifier: Apache-2.0
// The way in: token ids, and GPT-2's learned positions, to the first sum of the residual stream.
#pragma once

#include "libcore/model/micro_batch.h"
#include "libcore/model/parameters.h"

namespace convoy::model {

struct Embedding {
  tensor::View tokens;             // [V, C]
  tensor::MutableView dtokens;     // [V, C] fp32
  tensor::View positions;          // [P, C] GPT-2
  tensor::MutableView dpositions;  // [P, C] fp32, GPT-2
};

Embedding make_embedding(Parameters& parameters, const Config& config);

// y [B T, C] = rows of the tables
void forward(device::Stream& stream, const Embedding& embedding, const MicroBatch& micro, tensor::MutableView y);
// dtokens, dpositions += rows of dy
void backward(device::Stream& stream, const Embedding& embedding, const MicroBatch& micro, tensor::View dy);

}  // namespace convoy::model
