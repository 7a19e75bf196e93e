// SPDX-License-Identifier: Apache-2.0
// A linear layer: one or several parameters of the table side by side, their packed form and their gradients. Over
// tensor-parallel ranks its outputs are split (column-parallel: every rank has all of x and makes its part of y) or its
// inputs (row-parallel: parts of x, and y is a sum over the ranks), whichever the table says (Shoeybi et al., 2019).
#pragma once

#include <string>
#include <vector>

#include "libcore/model/parameters.h"
#include "libcore/model/shard.h"
#include "libcore/ops/linear.h"

namespace convoy::model {

struct Linear {
  ops::PackedWeight packed;
  std::vector<tensor::View> weights;          // a part each: [N_i, K] or [K, N_i] by layout
  std::vector<tensor::View> biases;           // [N_i] each, or none; of split inputs: the first rank adds them
  std::vector<tensor::MutableView> dweights;  // fp32, as weights; none without gradients
  std::vector<tensor::MutableView> dbiases;   // fp32, [N_i] each, or none: on all ranks
  comm::Communicator* sums_y = nullptr;       // where the inputs are split: y is summed over it
  comm::Communicator* sums_dx = nullptr;      // where the outputs are split: dx is summed over it
};

// The layer of the parameters `prefix` + name + ".weight" (and ".bias") for each of `names`.
Linear make_linear(device::Stream& stream, Parameters& parameters, ops::WeightLayout layout, const std::string& prefix,
                   const std::vector<std::string>& names, bool has_bias, const Shard& shard = {});

void pack(device::Stream& stream, Linear& layer);

// y = x w^T + bias
void forward(device::Stream& stream, const Linear& layer, tensor::View x, tensor::MutableView y);
// The same without the sum over the ranks.
void forward_part(device::Stream& stream, const Linear& layer, tensor::View x, tensor::MutableView y);
// dweights += dy^T x, dbiases += sum of dy
void backward_weight(device::Stream& stream, const Linear& layer, tensor::View dy, tensor::View x);
// dx = dy w
void backward_input(device::Stream& stream, const Linear& layer, tensor::View dy, tensor::MutableView dx);
// The same without the sum over the ranks, and the sum alone: for a dx that is made in parts.
void backward_input_part(device::Stream& stream, const Linear& layer, tensor::View dy, tensor::MutableView dx);
void sum_dx(device::Stream& stream, const Linear& layer, tensor::MutableView dx);

}  // namespace convoy::model
