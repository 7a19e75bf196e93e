// SPDX-License-Identifier: Apache-2.0
// Sums of gradients whose bits do not depend on the number of replicas (--reduction tree): the gradient of every
// micro-batch is computed from zero, and they are added in the one tree of reduction_tree.h over the micro-batches of
// the whole global batch, of which replica r has the r-th of equal parts. A replica adds what of the tree lies in its
// part; what is left, few nodes, is sent to the owner of each element, which does the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libcore/comm/communicator.h"
#include "libcore/device/arena.h"
#include "libcore/device/stream.h"
#include "libcore/parallel/buckets.h"
#include "libcore/parallel/reduction_tree.h"
#include "libcore/tensor/view.h"

namespace convoy::parallel {

class GradientTree {
 public:
  // `gradients`: as DataParallel's. `micro_batches`: every number of them that a replica may have in a step
  // (--batch-ramp). Beside `gradients` it keeps copies() more fp32 copies of them, and about `exchange_bytes` for what
  // travels.
  GradientTree(comm::Communicator& data, std::vector<tensor::MutableView> gradients,
               std::span<const std::int64_t> micro_batches, std::size_t exchange_bytes);

  // From the next step on a replica has so many micro-batches, one of those that the tree was made for.
  void plan(std::int64_t micro_batches);

  // log2 of the micro-batches of a replica where that is a power of two, at most twice as many elsewhere.
  std::size_t copies() const { return copies_; }

  // The gradients of parameters [begin, end) are those of the next micro-batch of theirs in this step; they become
  // zero, but after the last one, when they hold the newest node (with one replica: the sum), and true is returned.
  bool add_leaf(device::Stream& stream, std::size_t begin, std::size_t end);

  // Collective over the replicas, of more than one: after the last leaf of the bucket's parameters, this rank's shares
  // of them, those of `shares`, become the sums. May run on another thread than add_leaf(), for other parameters.
  void reduce(device::Stream& stream, const RankMajor& shares);

 private:
  tensor::MutableView node(std::size_t k, std::size_t parameter) const;
  const float* left_node(std::size_t k, std::size_t parameter) const;
  void pack(const RankMajor& shares, int owner, const Range& stretch, float* out) const;
  void unpack(const RankMajor& shares, const Range& stretch, const float* sums);
  void reduce_stretch(device::Stream& stream, const RankMajor& shares, std::int64_t begin, std::int64_t end);

  comm::Communicator& data_;
  const std::vector<tensor::MutableView> gradients_;
  const std::vector<std::int64_t> planned_;  // numbers of micro-batches
  const std::int64_t exchange_elements_;
  std::size_t copies_ = 0;
  device::Arena nodes_{"nodes of the reduction tree"};  // but the newest, which lies in the gradients
  std::vector<std::size_t> offsets_;                    // of node k of parameter i: number k parameters + i

  LeafSums sums_;                          // of this replica, in a step
  std::vector<std::size_t> nodes_of_;      // that each replica has left
  std::vector<Addition> additions_;        // of all replicas' nodes
  std::vector<std::size_t> leaves_of_;     // a parameter, that came in this step
  std::vector<float> arriving_, leaving_;  // what travels
};

}  // namespace convoy::parallel
