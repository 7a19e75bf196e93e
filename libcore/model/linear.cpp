// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/linear.h"

namespace convoy::model {

Linear make_linear(device::Stream& stream, Parameters& parameters, ops::WeightLayout layout, const std::string& prefix,
                   const std::vector<std::string>& names, bool has_bias) {
  Linear layer;
  std::vector<std::int64_t> outputs;
  std::int64_t inputs = 0;
  for (const std::string& name : names) {
    const std::size_t weight = parameters.index(prefix + name + ".weight");
    const tensor::Shape& shape = parameters.table()[weight].shape;
    const bool out_in = layout == ops::WeightLayout::kOutIn;
    outputs.push_back(shape[out_in ? 0 : 1]);
    inputs = shape[out_in ? 1 : 0];
    layer.weights.push_back(parameters.weight(weight));
    layer.dweights.push_back(parameters.gradient(weight));
    if (!has_bias) continue;
    const std::size_t bias = parameters.index(prefix + name + ".bias");
    layer.biases.push_back(parameters.weight(bias));
    layer.dbiases.push_back(parameters.gradient(bias));
  }
  layer.packed = ops::PackedWeight(stream, parameters.compute_dtype(), layout, outputs, inputs, has_bias);
  return layer;
}

void pack(device::Stream& stream, Linear& layer) {
  ops::pack_weight(stream, layer.weights, layer.biases, layer.packed);
}

void forward(device::Stream& stream, const Linear& layer, tensor::View x, tensor::MutableView y) {
  ops::linear_forward(stream, {.x = x, .w = &layer.packed, .preactivation = {}, .residual = {}, .y = y});
}

void backward_weight(device::Stream& stream, const Linear& layer, tensor::View dy, tensor::View x) {
  ops::linear_backward_weight(
      stream,
      {.dy = dy, .x = x, .layout = layer.packed.layout(), .dweights = layer.dweights, .dbiases = layer.dbiases});
}

void backward_input(device::Stream& stream, const Linear& layer, tensor::View dy, tensor::MutableView dx) {
  ops::linear_backward_input(stream, {.dy = dy, .w = &layer.packed, .dx = dx});
}

}  // namespace convoy::model
