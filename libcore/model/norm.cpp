// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/norm.h"

#include "libcore/ops/norm.h"

namespace convoy::model {

using tensor::MutableView;
using tensor::View;

Norm make_norm(Parameters& parameters, const Config& config, const std::string& name) {
  Norm norm;
  const std::size_t weight = parameters.index(name + ".weight");
  norm.weight = parameters.weight(weight);
  norm.dweight = parameters.gradient(weight);
  norm.epsilon = static_cast<float>(config.norm_epsilon);
  if (config.architecture == Architecture::kGpt2) {
    const std::size_t bias = parameters.index(name + ".bias");
    norm.bias = parameters.weight(bias);
    norm.dbias = parameters.gradient(bias);
  }
  return norm;
}

void plan(ActivationPlan& plan, NormActivations& activations, const Config& config, std::int64_t rows,
          tensor::DType dtype, Remaking sum) {
  plan.plan(activations.sum, {rows, config.width}, dtype, sum);
  plan.plan(activations.y, {rows, config.width}, dtype, Remaking::kRows);
  plan.plan(activations.rstd, {rows}, tensor::DType::kF32, Remaking::kRows);
  if (config.architecture == Architecture::kGpt2)
    plan.plan(activations.mean, {rows}, tensor::DType::kF32, Remaking::kRows);
}

namespace {

// The values of a vector that has one for each of the rank's rows.
MutableView per_row(const MicroBatch& micro, const MutableView& values) {
  return {values.data, values.dtype, {micro.own_rows().size()}, 0};
}

}  // namespace

void forward(device::Stream& stream, const Norm& norm, const MicroBatch& micro, View residual, View branch,
             NormActivations& saved) {
  if (micro.own_rows().size() == 0) return;
  const MutableView sum = micro.own_of(saved.sum);
  const View x = residual.present() ? residual : View(sum);
  const MutableView written_sum = branch.present() ? sum : MutableView{};
  if (norm.bias.present()) {
    ops::layernorm_forward(stream, {.x = x,
                                    .residual = branch,
                                    .weight = norm.weight,
                                    .bias = norm.bias,
                                    .epsilon = norm.epsilon,
                                    .sum = written_sum,
                                    .y = micro.own_of(saved.y),
                                    .mean = per_row(micro, saved.mean),
                                    .rstd = per_row(micro, saved.rstd)});
  } else {
    ops::rmsnorm_forward(stream, {.x = x,
                                  .residual = branch,
                                  .weight = norm.weight,
                                  .epsilon = norm.epsilon,
                                  .sum = written_sum,
                                  .y = micro.own_of(saved.y),
                                  .rstd = per_row(micro, saved.rstd)});
  }
}

void backward(device::Stream& stream, const Norm& norm, const MicroBatch& micro, const NormActivations& saved, View dy,
              View dsum, MutableView dx) {
  if (micro.own_rows().size() == 0) return;
  if (norm.bias.present()) {
    ops::layernorm_backward(stream, {.dy = dy,
                                     .dsum = dsum,
                                     .sum = micro.own_of(saved.sum),
                                     .weight = norm.weight,
                                     .mean = per_row(micro, saved.mean),
                                     .rstd = per_row(micro, saved.rstd),
                                     .dx = dx,
                                     .dweight = norm.dweight,
                                     .dbias = norm.dbias});
  } else {
    ops::rmsnorm_backward(stream, {.dy = dy,
                                   .dsum = dsum,
                                   .sum = micro.own_of(saved.sum),
                                   .weight = norm.weight,
                                   .rstd = per_row(micro, saved.rstd),
                                   .dx = dx,
                                   .dweight = norm.dweight});
  }
}

}  // namespace convoy::model
