// SPDX-License-Identifier: Apache-2.0
// Data parallelism of one rank: gradients are summed over the replicas in buckets, while the backward pass of the last
// micro-batch still runs; under ZeRO 1 (Rajbhandari et al., 2020) every rank receives the sums of its own share alone
// and gathers the others' updated weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "libcore/comm/communicator.h"
#include "libcore/device/stream.h"
#include "libcore/parallel/partition.h"
#include "libcore/tensor/view.h"
#include "libcore/trace/lane.h"

namespace convoy::parallel {

class GradientTree;

struct DataParallelOptions {
  int zero = 0;
  // Null: the replicas' gradients are summed in rank order. Else in the tree, of the same gradients, which has been
  // given the last micro-batch's when they are reported. Borrowed.
  GradientTree* tree = nullptr;
  std::size_t bucket_bytes = std::size_t{32} << 20;
  // A bucket whose pieces are smaller than this on average travels through one buffer; larger pieces where they lie,
  // for which a call each costs less than two copies.
  std::size_t in_place_bytes = std::size_t{512} << 10;
  bool overlap = true;  // reduce on a thread of its own; the bits do not depend on it
  // Of the rank; null: nothing is recorded. Reductions on the queue's thread are events, waiting for them a phase.
  trace::Recorder* recorder = nullptr;
};

class DataParallel {
 public:
  // `gradients`: fp32, dense, of every parameter of this rank in table order; backward finishes the last ones first, so
  // buckets are cut from the end. `alone`: indices of parameters that get a bucket of their own (tied tensors, whose
  // sum over the pipeline's ends comes first).
  DataParallel(comm::Communicator& data, std::vector<tensor::MutableView> gradients, std::span<const std::size_t> alone,
               const DataParallelOptions& options);
  ~DataParallel();

  // The flat range of parameter i that this rank updates: all of it under ZeRO 0, flat_partition() under ZeRO 1.
  Range share(std::size_t i) const;

  // Parameters [begin, end) have their final local gradients; each index is reported once a step, in any order and from
  // one thread. Buckets whose parameters are all ready start to reduce.
  void ready(std::size_t begin, std::size_t end);
  // Waits until every gradient (ZeRO 1: of this rank's shares) is the sum over the replicas. Every parameter has been
  // reported. Rethrows what a reduction threw.
  void finish(device::Stream& stream);

  // After the update under ZeRO 1: every rank's share of the weights (any dtype, table order) reaches all; nothing to
  // do under ZeRO 0.
  void gather(device::Stream& stream, const std::vector<tensor::MutableView>& weights);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace convoy::parallel
