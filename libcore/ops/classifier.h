// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy over a vocabulary shard for a block of rows, in halves, so that the caller can reduce
// `maximum`, then `sum` and `target_logit`, over the ranks that hold the other shards between them. The caller computes
// the logits with linear_forward (fp32) and turns dlogits into gradients with the two linear backwards.
//
//   logits [R, V] -> classifier_maximum -> (max over TP) -> classifier_sum -> (sum over TP) -> classifier_backward
//
// gives dlogits, and the loss of a row is maximum + log(sum) - target_logit.
//
// A logit that is NaN or +infinity makes the row's sum NaN.
#pragma once

#include "libcore/ops/linear.h"

namespace convoy::ops {

constexpr std::int32_t kIgnoredTarget = -100;  // counts neither in the loss nor in the number of targets

struct ClassifierMaximum {
  View logits;          // [R, V] fp32
  MutableView maximum;  // [R] fp32
};
void classifier_maximum(Stream& stream, const ClassifierMaximum& args);

struct ClassifierSum {
  View logits;               // [R, V] fp32
  View maximum;              // [R] fp32, of the whole vocabulary
  View targets;              // [R] i32 global ids, or kIgnoredTarget
  std::int64_t first = 0;    // id of the shard's first column
  MutableView sum;           // [R] fp32: sum over the shard of exp(logit - maximum)
  MutableView target_logit;  // [R] fp32: the target's logit, 0 where another shard holds it or it is ignored
};
void classifier_sum(Stream& stream, const ClassifierSum& args);

// dlogits = scale * (softmax - onehot(target)), 0 in ignored rows.
struct ClassifierBackward {
  View logits;   // [R, V] fp32
  View maximum;  // [R] fp32
  View sum;      // [R] fp32, of the whole vocabulary
  View targets;  // [R] i32
  std::int64_t first = 0;
  float scale = 1.0f;
  MutableView dlogits;  // [R, V] fp32 (may be logits itself) or bf16
};
void classifier_backward(Stream& stream, const ClassifierBackward& args);

struct ClassifierTable {
  void (*maximum)(Stream&, const ClassifierMaximum&);
  void (*sum)(Stream&, const ClassifierSum&);
  void (*backward)(Stream&, const ClassifierBackward&);
};

}  // namespace convoy::ops
