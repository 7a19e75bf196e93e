// SPDX-License-Identifier: Apache-2.0
// The optimizer's elementwise and reducing maths over flat ranges.
#pragma once

#include "libcore/base/exact_sum.h"
#include "libcore/ops/linear.h"

namespace convoy::ops {

// AdamW (Loshchilov and Hutter, 2019), all in fp32, constants in double so that 1 - beta2 does not lose digits:
//   g = gradient_scale * gradient; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
//   p -= rate * ((m / correction1) / (sqrt(v / correction2) + epsilon) + weight_decay * p_old)
// Moments below 2^-120 become zero, because arithmetic on denormal numbers is slow. Dense ranges.
struct AdamW {
  View gradient;          // [n] fp32
  MutableView parameter;  // [n] fp32: the weights, or their fp32 master
  MutableView m;          // [n] fp32
  MutableView v;          // [n] fp32
  MutableView rounded;    // [n] bf16 or fp16, optional: the parameter rounded to nearest even
  float gradient_scale = 1.0f;
  float rate = 0.0f;
  double beta1 = 0.9;
  double beta2 = 0.95;
  float epsilon = 1e-8f;
  float weight_decay = 0.0f;
  double correction1 = 1.0;  // 1 - beta1^t
  double correction2 = 1.0;  // 1 - beta2^t
};
void adamw(Stream& stream, const AdamW& args);

// Adds the squares of fp32 values to `sum`: those of 64 elements in double, in a fixed order, and the blocks exactly.
// So the result depends neither on threads nor on how the elements are cut at multiples of 64, as flat_partition() does
// over ranks. NaN if any value is not finite.
void sum_of_squares(Stream& stream, View x, ExactSum& sum);

// y = x, converted (fp32 <-> bf16 or fp16, to nearest even), dense.
void cast(Stream& stream, View x, MutableView y);
// y += x, in y's dtype, dense.
void add(Stream& stream, View x, MutableView y);
// x *= factor, fp32, dense.
void scale(Stream& stream, float factor, MutableView x);
void fill_zero(Stream& stream, MutableView x);

struct OptimizerTable {
  void (*adamw)(Stream&, const AdamW&);
  void (*sum_of_squares)(Stream&, View, ExactSum&);
  void (*cast)(Stream&, View, MutableView);
  void (*add)(Stream&, View, MutableView);
  void (*scale)(Stream&, float, MutableView);
  void (*fill_zero)(Stream&, MutableView);
};

}  // namespace convoy::ops
