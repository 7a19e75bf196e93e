// SPDX-License-Identifier: Apache-2.0
// A normalisation of the residual stream: LayerNorm where it has a bias (GPT-2), RMSNorm where it has none (Llama),
// with the addition that precedes it. Saves what its backward needs.
#pragma once

#include <string>

#include "libcore/model/activation_plan.h"
#include "libcore/model/micro_batch.h"
#include "libcore/model/parameters.h"

namespace convoy::model {

struct Norm {
  tensor::View weight;          // [C]
  tensor::View bias;            // [C]; absent: RMSNorm
  tensor::MutableView dweight;  // [C] fp32
  tensor::MutableView dbias;    // [C] fp32
  float epsilon = 1e-5f;
};

// What one application of a norm keeps; each [a rank's rows of the largest micro-batch, ...].
struct NormActivations {
  tensor::MutableView sum;   // [B T, C] the residual stream here
  tensor::MutableView y;     // [B T, C]
  tensor::MutableView mean;  // [B T] fp32; LayerNorm
  tensor::MutableView rstd;  // [B T] fp32
};

Norm make_norm(Parameters& parameters, const Config& config, const std::string& name);
// `sum`: what making the stream here again costs.
void plan(ActivationPlan& plan, NormActivations& activations, const Config& config, std::int64_t rows,
          tensor::DType dtype, Remaking sum = Remaking::kNever);

// sum = stream + branch, y = norm(sum). With neither, sum was written already.
void forward(device::Stream& stream, const Norm& norm, const MicroBatch& micro, tensor::View residual,
             tensor::View branch, NormActivations& saved);
// dx = d(sum) = the norm's own gradient + dsum; dsum may be dx itself, or absent. dweight, dbias +=.
void backward(device::Stream& stream, const Norm& norm, const MicroBatch& micro, const NormActivations& saved,
              tensor::View dy, tensor::View dsum, tensor::MutableView dx);

}  // namespace convoy::model
