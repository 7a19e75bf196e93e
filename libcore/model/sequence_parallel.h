// SPDX-License-Identifier: Apache-2.0
// Sequence parallelism (Korthikanti et al., 2022): between the products of a block, each tensor-parallel rank has its
// own rows of the residual stream alone (MicroBatch::own_rows). A product whose outputs are split takes the rows of all
// ranks, gathered; one whose inputs are split leaves each rank its own rows of the sum. The same sums as without it, in
// the same order. Where rows are not split, each of these is what it is without sequence parallelism, and `whole` is
// not touched.
#pragma once

#include "libcore/model/linear.h"
#include "libcore/model/micro_batch.h"

namespace convoy::model {

// The rows of all ranks, [B T, C]: `own` itself, or gathered into the buffer `whole`.
tensor::MutableView all_rows(device::Stream& stream, const MicroBatch& micro, const tensor::MutableView& own,
                             const tensor::MutableView& whole);
// own = this rank's rows of the sum over the ranks of `whole` [B T, C], which may hold it. Rows are split.
void sum_to_own_rows(device::Stream& stream, const MicroBatch& micro, const tensor::MutableView& whole,
                     const tensor::MutableView& own);

// y = x w^T + bias, where the inputs are split. y: own rows.
void forward_to_own_rows(device::Stream& stream, const Linear& layer, const MicroBatch& micro, const tensor::View& x,
                         const tensor::MutableView& whole, const tensor::MutableView& y);
// dx = dy w, where the outputs are split. dx: own rows.
void backward_to_own_rows(device::Stream& stream, const Linear& layer, const MicroBatch& micro, const tensor::View& dy,
                          const tensor::MutableView& whole, const tensor::MutableView& dx);

}  // namespace convoy::model
