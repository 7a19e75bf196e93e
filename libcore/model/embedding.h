// SPDX-License-Identifier: Apache-2.0
// The way in: token ids, and GPT-2's learned positions, to the first sum of the residual stream. Over tensor-parallel
// ranks the vocabulary is split; the first of them adds the positions, and the rows are summed.
#pragma once

#include "libcore/model/micro_batch.h"
#include "libcore/model/parameters.h"
#include "libcore/model/shard.h"

namespace convoy::model {

struct Embedding {
  tensor::View tokens;             // [V/tp, C]
  tensor::MutableView dtokens;     // [V/tp, C] fp32
  std::int64_t first = 0;          // id of the first row
  tensor::View positions;          // [P, C] GPT-2, on the first rank
  tensor::MutableView dpositions;  // [P, C] fp32, GPT-2, on all ranks
  DropoutPlace dropout;            // of the sum
  comm::Communicator* peers = nullptr;
};

// `config`: of the whole model.
Embedding make_embedding(Parameters& parameters, const Config& config, const Shard& shard = {});

// y [R, C] = rows of the tables, this rank's own. `whole`: Buffers::whole, used where rows are split.
void forward(device::Stream& stream, const Embedding& embedding, const MicroBatch& micro, tensor::MutableView whole,
             tensor::MutableView y);
// dtokens, dpositions += rows of dy [R, C], which with dropout is overwritten
void backward(device::Stream& stream, const Embedding& embedding, const MicroBatch& micro, tensor::MutableView whole,
              tensor::MutableView dy);

}  // namespace convoy::model
