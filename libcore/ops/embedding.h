// SPDX-License-Identifier: Apache-2.0
// Token and position embedding. Rows of a vocabulary shard: an id outside [first, first + rows of the table) adds
// nothing. y, table and position_table share one dtype, fp32, bf16 or fp16. A position outside the position table is an
// InternalError.
#pragma once

#include "libcore/ops/linear.h"

namespace convoy::ops {

struct EmbeddingForward {
  View tokens;             // [N] i32
  View table;              // [V, C]
  std::int64_t first = 0;  // id of the table's first row
  View positions;          // [N] i32, with position_table
  View position_table;     // [P, C] optional
  MutableView y;           // [N, C]
};
void embedding_forward(Stream& stream, const EmbeddingForward& args);

struct EmbeddingBackward {
  View tokens;  // [N] i32
  std::int64_t first = 0;
  View positions;               // [N] i32, with dposition_table
  View dy;                      // [N, C]
  MutableView dtable;           // [V, C] fp32 +=, in the order of the rows of dy for every table row
  MutableView dposition_table;  // [P, C] fp32 += optional
};
void embedding_backward(Stream& stream, const EmbeddingBackward& args);

struct EmbeddingTable {
  void (*forward)(Stream&, const EmbeddingForward&);
  void (*backward)(Stream&, const EmbeddingBackward&);
};

}  // namespace convoy::ops
