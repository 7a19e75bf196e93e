// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/sequence_parallel.h"

namespace convoy::model {

using tensor::MutableView;
using tensor::View;

MutableView all_rows(device::Stream& stream, const MicroBatch& micro, const MutableView& own,
                     const MutableView& whole) {
  const MutableView mine = micro.own_of(own);
  if (micro.row_peers == nullptr) return mine;
  const MutableView all = micro.of(whole);
  micro.row_peers->all_gather(stream, mine, all, micro.shares);
  return all;
}

void sum_to_own_rows(device::Stream& stream, const MicroBatch& micro, const MutableView& whole,
                     const MutableView& own) {
  micro.row_peers->reduce_scatter(stream, micro.of(whole), own, micro.shares, comm::Reduction::kSum);
}

void forward_to_own_rows(device::Stream& stream, const Linear& layer, const MicroBatch& micro, const View& x,
                         const MutableView& whole, const MutableView& y) {
  if (micro.row_peers == nullptr) return forward(stream, layer, x, micro.own_of(y));
  forward_part(stream, layer, x, micro.of(whole));
  sum_to_own_rows(stream, micro, whole, micro.own_of(y));
}

void backward_to_own_rows(device::Stream& stream, const Linear& layer, const MicroBatch& micro, const View& dy,
                          const MutableView& whole, const MutableView& dx) {
  if (micro.row_peers == nullptr) return backward_input(stream, layer, dy, micro.own_of(dx));
  backward_input_part(stream, layer, dy, micro.of(whole));
  sum_to_own_rows(stream, micro, whole, micro.own_of(dx));
}

}  // namespace convoy::model
