// SPDX-License-Identifier: Apache-2.0
// Causal scaled dot-product attention with grouped key/value heads, tiled with an online softmax (Dao et al., 2022): no
// T x T matrix is ever held. Softmax in fp32. Query head h reads key/value head h / (H / K).
#pragma once

#include "libcore/ops/dropout.h"
#include "libcore/ops/linear.h"

namespace convoy::ops {

struct AttentionShape {
  std::int64_t batch = 0;     // B
  std::int64_t sequence = 0;  // T
  int query_heads = 0;        // H
  int key_value_heads = 0;    // K
  int head_size = 0;          // D
  float scale = 0.0f;         // 1 / sqrt(D)
};

// Of the probabilities, after the softmax: what is dropped counts in its sums. Row r of q is a token of slot first_slot
// + r / T, query head h the whole model's head first_head + h. Positions are those in the window, whatever `positions`
// says.
struct AttentionDropout {
  Dropout mask;
  std::int64_t first_slot = 0;
  std::int64_t first_head = 0;
};

struct AttentionForward {
  AttentionShape shape;
  View q;          // [B T, H D], strided rows allowed
  View k;          // [B T, K D]
  View v;          // [B T, K D]
  View positions;  // [B T] i32 optional: position in its document; query t sees keys t - positions[t] .. t of its
                   // sequence
  MutableView y;   // [B T, H D]
  MutableView log_sum_exp;  // [B, H, T] fp32, for backward
  AttentionDropout dropout = {};
};
void attention_forward(Stream& stream, const AttentionForward& args);

struct AttentionBackward {
  AttentionShape shape;
  View q, k, v, positions, y, log_sum_exp;  // as in forward
  View dy;                                  // [B T, H D]
  MutableView dq;                           // [B T, H D] overwritten; strided rows allowed
  MutableView dk;                           // [B T, K D] overwritten
  MutableView dv;                           // [B T, K D] overwritten
  AttentionDropout dropout = {};            // as in forward
};
void attention_backward(Stream& stream, const AttentionBackward& args);

struct AttentionTable {
  void (*forward)(Stream&, const AttentionForward&);
  void (*backward)(Stream&, const AttentionBackward&);
};

}  // namespace convoy::ops
