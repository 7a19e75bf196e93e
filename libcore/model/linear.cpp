// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/linear.h"

namespace convoy::model {
namespace {

// Who must sum what, by the dimension along which the weight is split.
void join_ranks(Linear& layer, const Parameter& weight, ops::WeightLayout layout, const Shard& shard) {
  if (weight.split == Split::kReplicated) return;
  const Split outputs = layout == ops::WeightLayout::kOutIn ? Split::kRows : Split::kColumns;
  (weight.split == outputs ? layer.sums_dx : layer.sums_y) = shard.peers();
}

}  // namespace

Linear make_linear(device::Stream& stream, Parameters& parameters, ops::WeightLayout layout, const std::string& prefix,
                   const std::vector<std::string>& names, bool has_bias, const Shard& shard) {
  Linear layer;
  std::vector<std::int64_t> outputs;
  std::int64_t inputs = 0;
  bool adds_bias = has_bias;
  for (const std::string& name : names) {
    const std::size_t weight = parameters.index(prefix + name + ".weight");
    const tensor::Shape& shape = parameters.table()[weight].local_shape();
    const bool out_in = layout == ops::WeightLayout::kOutIn;
    outputs.push_back(shape[out_in ? 0 : 1]);
    inputs = shape[out_in ? 1 : 0];
    layer.weights.push_back(parameters.weight(weight));
    layer.dweights.push_back(parameters.gradient(weight));
    join_ranks(layer, parameters.table()[weight], layout, shard);
    if (!has_bias) continue;
    const std::size_t bias = parameters.index(prefix + name + ".bias");
    layer.dbiases.push_back(parameters.gradient(bias));
    adds_bias = layer.sums_y == nullptr || shard.tensor_rank == 0;
    if (adds_bias) layer.biases.push_back(parameters.weight(bias));
  }
  layer.packed = ops::PackedWeight(stream, parameters.compute_dtype(), layout, outputs, inputs, adds_bias);
  return layer;
}

void pack(device::Stream& stream, Linear& layer) {
  ops::pack_weight(stream, layer.weights, layer.biases, layer.packed);
}

void forward(device::Stream& stream, const Linear& layer, tensor::View x, tensor::MutableView y) {
  forward_part(stream, layer, x, y);
  if (layer.sums_y != nullptr) layer.sums_y->all_reduce(stream, y, comm::Reduction::kSum);
}

void forward_part(device::Stream& stream, const Linear& layer, tensor::View x, tensor::MutableView y) {
  ops::linear_forward(stream, {.x = x, .w = &layer.packed, .preactivation = {}, .residual = {}, .y = y});
}

void backward_weight(device::Stream& stream, const Linear& layer, tensor::View dy, tensor::View x) {
  ops::linear_backward_weight(
      stream,
      {.dy = dy, .x = x, .layout = layer.packed.layout(), .dweights = layer.dweights, .dbiases = layer.dbiases});
}

void backward_input(device::Stream& stream, const Linear& layer, tensor::View dy, tensor::MutableView dx) {
  backward_input_part(stream, layer, dy, dx);
  sum_dx(stream, layer, dx);
}

void backward_input_part(device::Stream& stream, const Linear& layer, tensor::View dy, tensor::MutableView dx) {
  ops::linear_backward_input(stream, {.dy = dy, .w = &layer.packed, .dx = dx});
}

void sum_dx(device::Stream& stream, const Linear& layer, tensor::MutableView dx) {
  if (layer.sums_dx != nullptr) layer.sums_dx->all_reduce(stream, dx, comm::Reduction::kSum);
}

}  // namespace convoy::model
