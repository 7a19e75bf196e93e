// SPDX-License-Identifier: Apache-2.0
// Layer normalisation (Ba et al., 2016) and root-mean-square normalisation (Zhang and Sennrich, 2019) over the last
// dimension, with the residual addition that precedes them. Statistics in fp32. Unless stated otherwise the tensors of
// a call share one dtype, fp32, bf16 or fp16, and rows may be strided. `sum` is given exactly when `residual` is.
#pragma once

#include "libcore/ops/linear.h"

namespace convoy::ops {

// sum = x + residual (if given); y = (sum - mean) * rstd * weight + bias.
struct LayerNormForward {
  View x;         // [N, C]
  View residual;  // [N, C] optional
  View weight;    // [C]
  View bias;      // [C]
  float epsilon = 1e-5f;
  MutableView sum;   // [N, C] required with residual; may be x or residual itself
  MutableView y;     // [N, C]
  MutableView mean;  // [N] fp32, for backward
  MutableView rstd;  // [N] fp32, for backward
};
void layernorm_forward(Stream& stream, const LayerNormForward& args);

// dx = d(sum) of the forward: the norm's own gradient plus dsum, the gradient that reaches the sum directly.
struct LayerNormBackward {
  View dy;              // [N, C]
  View dsum;            // [N, C] optional; may be dx itself
  View sum;             // [N, C] the normalised input
  View weight;          // [C]
  View mean;            // [N] fp32
  View rstd;            // [N] fp32
  MutableView dx;       // [N, C] overwritten
  MutableView dweight;  // [C] fp32 +=; the order of its sum depends on the number of threads
  MutableView dbias;    // [C] fp32 +=; likewise
};
void layernorm_backward(Stream& stream, const LayerNormBackward& args);

// sum = x + residual (if given); y = sum * rstd * weight, rstd = 1 / sqrt(mean(sum^2) + epsilon).
struct RmsNormForward {
  View x;         // [N, C]
  View residual;  // [N, C] optional
  View weight;    // [C]
  float epsilon = 1e-5f;
  MutableView sum;   // [N, C] required with residual; may be x or residual itself
  MutableView y;     // [N, C]
  MutableView rstd;  // [N] fp32
};
void rmsnorm_forward(Stream& stream, const RmsNormForward& args);

struct RmsNormBackward {
  View dy;              // [N, C]
  View dsum;            // [N, C] optional; may be dx itself
  View sum;             // [N, C]
  View weight;          // [C]
  View rstd;            // [N] fp32
  MutableView dx;       // [N, C] overwritten
  MutableView dweight;  // [C] fp32 +=
};
void rmsnorm_backward(Stream& stream, const RmsNormBackward& args);

struct NormTable {
  void (*layernorm_forward)(Stream&, const LayerNormForward&);
  void (*layernorm_backward)(Stream&, const LayerNormBackward&);
  void (*rmsnorm_forward)(Stream&, const RmsNormForward&);
  void (*rmsnorm_backward)(Stream&, const RmsNormBackward&);
};

}  // namespace convoy::ops
