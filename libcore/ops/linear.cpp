// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/linear.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/checks.h"
#include "libcore/ops/packed_weight.h"

namespace convoy::ops {
namespace {

// What messages call the parts, as literals: a check that passes allocates nothing.
using PartNames = std::array<std::string_view, 4>;
constexpr PartNames kWeights = {"pack_weight: weight 0", "pack_weight: weight 1", "pack_weight: weight 2",
                                "pack_weight: a weight after the third"};
constexpr PartNames kBiases = {"pack_weight: bias 0", "pack_weight: bias 1", "pack_weight: bias 2",
                               "pack_weight: a bias after the third"};
constexpr PartNames kDWeights = {"linear_backward_weight: dweight 0", "linear_backward_weight: dweight 1",
                                 "linear_backward_weight: dweight 2",
                                 "linear_backward_weight: a dweight after the third"};
constexpr PartNames kDBiases = {"linear_backward_weight: dbias 0", "linear_backward_weight: dbias 1",
                                "linear_backward_weight: dbias 2", "linear_backward_weight: a dbias after the third"};

std::string_view part_name(const PartNames& names, std::size_t part) { return names[std::min(part, names.size() - 1)]; }

void check_weight_matrix(const View& view, WeightLayout layout, std::int64_t outputs, std::int64_t inputs, DType dtype,
                         std::string_view what) {
  const bool out_in = layout == WeightLayout::kOutIn;
  check_matrix(view, out_in ? outputs : inputs, out_in ? inputs : outputs, dtype, what);
}

}  // namespace

PackedWeight::PackedWeight(Stream& stream, DType dtype, WeightLayout layout, std::span<const std::int64_t> part_outputs,
                           std::int64_t inputs, bool has_bias) {
  check_float(dtype, "PackedWeight: dtype");
  check(inputs > 0, "PackedWeight: a weight has inputs");
  check(!part_outputs.empty(), "PackedWeight: a weight has at least one part");
  for (const std::int64_t outputs : part_outputs) check(outputs > 0, "PackedWeight: each part has outputs");
  Storage* storage = nullptr;
  void (*destroy)(Storage*) = nullptr;
  stream.backend().linear.create(stream, storage, destroy, dtype, layout, part_outputs, inputs, has_bias);
  storage_ = std::shared_ptr<Storage>(storage, destroy);
}

DType PackedWeight::dtype() const { return storage_->dtype; }
WeightLayout PackedWeight::layout() const { return storage_->layout; }
std::int64_t PackedWeight::outputs() const { return storage_->outputs; }
std::int64_t PackedWeight::inputs() const { return storage_->inputs; }
bool PackedWeight::has_bias() const { return storage_->has_bias; }
std::span<const std::int64_t> PackedWeight::part_outputs() const { return storage_->part_outputs; }
std::size_t PackedWeight::bytes() const { return storage_->bytes; }

void pack_weight(Stream& stream, std::span<const View> weights, std::span<const View> biases, PackedWeight& packed) {
  const std::span<const std::int64_t> outputs = packed.part_outputs();
  check(weights.size() == outputs.size(), "pack_weight: one weight for each part");
  check(biases.size() == (packed.has_bias() ? outputs.size() : 0), "pack_weight: one bias for each part, or none");
  for (std::size_t part = 0; part < outputs.size(); ++part) {
    check_weight_matrix(weights[part], packed.layout(), outputs[part], packed.inputs(), packed.dtype(),
                        part_name(kWeights, part));
    if (packed.has_bias()) check_dense(biases[part], outputs[part], packed.dtype(), part_name(kBiases, part));
  }
  stream.backend().linear.pack(stream, weights, biases, packed);
}

void linear_forward(Stream& stream, const LinearForward& args) {
  check(args.w != nullptr, "linear_forward: w is given");
  const PackedWeight& w = *args.w;
  const std::int64_t rows = args.y.rows();
  check_matrix(args.x, rows, w.inputs(), w.dtype(), "linear_forward: x");
  check_float(args.y.dtype, "linear_forward: y");
  check(args.y.dtype == w.dtype() || args.y.dtype == DType::kF32, "linear_forward: y has the dtype of x, or fp32");
  check_matrix(args.y, rows, w.outputs(), args.y.dtype, "linear_forward: y");
  if (args.preactivation.present()) {
    check_matrix(args.preactivation, rows, w.outputs(), w.dtype(), "linear_forward: preactivation");
  }
  if (args.residual.present()) check_matrix(args.residual, rows, w.outputs(), args.y.dtype, "linear_forward: residual");
  stream.backend().linear.forward(stream, args);
}

void linear_backward_input(Stream& stream, const LinearBackwardInput& args) {
  check(args.w != nullptr, "linear_backward_input: w is given");
  const PackedWeight& w = *args.w;
  const std::int64_t rows = args.dx.rows();
  check_matrix(args.dy, rows, w.outputs(), w.dtype(), "linear_backward_input: dy");
  check_float(args.dx.dtype, "linear_backward_input: dx");
  check(args.dx.dtype == w.dtype() || args.dx.dtype == DType::kF32,
        "linear_backward_input: dx has the dtype of dy, or fp32");
  check_matrix(args.dx, rows, w.inputs(), args.dx.dtype, "linear_backward_input: dx");
  stream.backend().linear.backward_input(stream, args);
}

void linear_backward_weight(Stream& stream, const LinearBackwardWeight& args) {
  const std::int64_t rows = args.x.rows();
  const std::int64_t inputs = args.x.columns();
  check_float(args.x.dtype, "linear_backward_weight: x");
  check_float(args.dy.dtype, "linear_backward_weight: dy");
  check_matrix(args.x, rows, inputs, args.x.dtype, "linear_backward_weight: x");
  check_matrix(args.dy, rows, args.dy.columns(), args.dy.dtype, "linear_backward_weight: dy");
  check(args.dbiases.empty() || args.dbiases.size() == args.dweights.size(),
        "linear_backward_weight: one dbias for each dweight, or none");
  std::int64_t outputs = 0;
  for (std::size_t part = 0; part < args.dweights.size(); ++part) {
    const MutableView& dweight = args.dweights[part];
    const std::int64_t part_outputs = args.layout == WeightLayout::kOutIn ? dweight.rows() : dweight.columns();
    check_weight_matrix(dweight, args.layout, part_outputs, inputs, DType::kF32, part_name(kDWeights, part));
    if (!args.dbiases.empty()) {
      check_dense(args.dbiases[part], part_outputs, DType::kF32, part_name(kDBiases, part));
    }
    outputs += part_outputs;
  }
  check(outputs == args.dy.columns(), "linear_backward_weight: the dweights' outputs add up to the columns of dy");
  stream.backend().linear.backward_weight(stream, args);
}

}  // namespace convoy::ops
