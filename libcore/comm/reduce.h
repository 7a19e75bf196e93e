// SPDX-License-Identifier: Apache-2.0
// The arithmetic of reductions, private to comm: one piece of code for every backend, so that all give the same bits.
#pragma once

#include <cstdint>
#include <span>

#include "libcore/comm/communicator.h"
#include "libcore/tensor/dtype.h"

namespace convoy::comm {

// out[i] = ((inputs[0][i] op inputs[1][i]) op inputs[2][i]) .. for i < count. bf16 and fp16 are widened to fp32 and
// rounded once, sums of i64 wrap, and a NaN wins every maximum and minimum. `out` may be one of the inputs.
void reduce_in_rank_order(tensor::DType dtype, Reduction reduction, std::span<const void* const> inputs, void* out,
                          std::int64_t count);

// Elements [begin, end) of `count` that rank `rank` of `size` reduces; the remainder goes to the first ranks.
struct Part {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};
Part part_of(std::int64_t count, int size, int rank);

}  // namespace convoy::comm
