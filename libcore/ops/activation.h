// SPDX-License-Identifier: Apache-2.0
// Activations of the feed-forward layer. GELU is the tanh form (Hendrycks and Gimpel, 2016; "gelu_new").
// The tensors of a call share one dtype, fp32, bf16 or fp16; maths in fp32; rows may be strided.
#pragma once

#include "libcore/ops/linear.h"

namespace convoy::ops {

// y = gelu(x): to the bit what linear_forward makes of the preactivation that it leaves.
struct GeluForward {
  View x;         // [N, F] the preactivation
  MutableView y;  // [N, F]; may be x
};
void gelu_forward(Stream& stream, const GeluForward& args);

// dx = dy * gelu'(x). dx may be dy, or x.
struct GeluBackward {
  View x;          // [N, F] the preactivation
  View dy;         // [N, F]
  MutableView dx;  // [N, F] overwritten
};
void gelu_backward(Stream& stream, const GeluBackward& args);

// y = silu(gate) * up (Shazeer, 2020); gate and up are the halves of a row.
struct SwigluForward {
  View gate_up;   // [N, 2F]
  MutableView y;  // [N, F]
};
void swiglu_forward(Stream& stream, const SwigluForward& args);

struct SwigluBackward {
  View gate_up;          // [N, 2F]
  View dy;               // [N, F]
  MutableView dgate_up;  // [N, 2F] overwritten; may be gate_up itself
};
void swiglu_backward(Stream& stream, const SwigluBackward& args);

struct ActivationTable {
  void (*gelu_forward)(Stream&, const GeluForward&);
  void (*gelu_backward)(Stream&, const GeluBackward&);
  void (*swiglu_forward)(Stream&, const SwigluForward&);
  void (*swiglu_backward)(Stream&, const SwigluBackward&);
};

}  // namespace convoy::ops
