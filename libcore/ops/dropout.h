// SPDX-License-Identifier: Apache-2.0
// Dropout (Srivastava et al., 2014) whose masks are stored nowhere: whether an element is dropped is a function of a
// key and of the element's place in the global batch, so that forward, backward, recomputation and every layout agree.
//
// An element has 32 random bits and is dropped if they are below `threshold`. The bits are one of the four words of a
// Philox4x32-10 block (base/random.h) of `key`, whose counter is
//   of rows:      slot, 0, position, channel / 64 * 16 + channel % 16;  word channel % 64 / 16
//   of attention: slot, head, q / 32 * 16 + q % 16, k / 32 * 16 + k % 16;  word q % 32 / 16 * 2 + k % 32 / 16
// with slot the sequence's in the global batch, positions those in its window, head that of the whole model, q the
// query's position and k the key's. Elements that share a block lie 16 apart, so that a vector of up to 16 neighbours
// is a vector of blocks, whatever the instruction set. Pinned: other bits make a run another one.
#pragma once

#include "libcore/ops/linear.h"

namespace convoy::ops {

struct Dropout {
  std::uint64_t key = 0;
  std::uint32_t threshold = 0;  // rate 2^32; 0: nothing is dropped
  float scale = 1.0f;           // of what is kept: 1 / (1 - rate)
  bool present() const { return threshold > 0; }
};
Dropout make_dropout(double rate, std::uint64_t key);  // 0 <= rate < 1

// y = x scale where it is kept, 0 where it is dropped. Its own backward, of gradients. Row r of x is that of token
// first_row + r of a micro-batch [B, T] whose first sequence is in slot first_slot.
struct DropoutRows {
  Dropout dropout;
  std::int64_t sequence = 1;  // T
  std::int64_t first_slot = 0;
  std::int64_t first_row = 0;
  View x;         // [N, C] fp32, bf16 or fp16; strided rows allowed
  MutableView y;  // [N, C], dtype of x; may be x
};
void dropout_rows(Stream& stream, const DropoutRows& args);

struct DropoutTable {
  void (*rows)(Stream&, const DropoutRows&);
};

}  // namespace convoy::ops
