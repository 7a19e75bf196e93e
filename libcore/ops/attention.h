// SPDX-License-Identifier: Apache-2.0
// Causal scaled dot-product attention with grouped key/value heads, tiled with an online softmax (Dao et al., 2022): no
// T x T matrix is ever held. Softmax in fp32. Query head h reads key/value head h / (H / K).
#pragma once

#include "libcore/ops/linear.h"

namespace convoy::ops {

struct AttentionShape {
  std::int64_t batch = 0;      // B
  std::int64_t sequence = 0;   // T
  int query_heads = 0;         // H
  int key_value_heads = 0;     // K
  int head_size = 0;           // D
  float scale = 0.0f;          // 1 / sqrt(D)
};

struct AttentionForward {
  AttentionShape shape;
  View q;            // [B T, H D], strided rows allowed
  View k;            // [B T, K D]
  View v;            // [B T, K D]
  View positions;    // [B T] i32 optional: position in its document; query t sees keys t - positions[t] .. t of its sequence
  MutableView y;     // [B T, H D]
  MutableView log_sum_exp;  // [B, H, T] fp32, for backward
};
void attention_forward(Stream& stream, const AttentionForward& args);

struct AttentionBackward {
  AttentionShape shape;
  View q, k, v, positions, y, log_sum_exp;  // as in forward
  View dy;                                  // [B T, H D]
  MutableView dq;                           // [B T, H D] overwritten; strided rows allowed
  MutableView dk;                           // [B T, K D] overwritten
  MutableView dv;                           // [B T, K D] overwritten
};
void attention_backward(Stream& stream, const AttentionBackward& args);

struct AttentionTable {
  void (*forward)(Stream&, const AttentionForward&);
  void (*backward)(Stream&, const AttentionBackward&);
};

}  // namespace convoy::ops
