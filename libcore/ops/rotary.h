// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al., 2021), Hugging Face's half-rotate form: pair (i, i + D/2) of each head turns by
// position * frequency(i). The table of cosines and sines is the model's.
#pragma once

#include "libcore/ops/linear.h"

namespace convoy::ops {

struct Rotary {
  MutableView heads;  // [rows, heads * D] fp32, bf16 or fp16, in place; strided rows allowed (the q or the k columns of
                      // a fused buffer)
  int head_size = 0;     // D, even
  View cosine;           // [positions, D/2] fp32
  View sine;             // [positions, D/2] fp32
  View positions;        // [rows] i32
  bool inverse = false;  // turn back: the backward pass
};
void rotary(Stream& stream, const Rotary& args);

struct RotaryTable {
  void (*apply)(Stream&, const Rotary&);
};

}  // namespace convoy::ops
