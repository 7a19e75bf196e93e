// SPDX-License-Identifier: Apache-2.0
// ZeRO 2 and 3 (Rajbhandari et al., 2020) for one rank: gradients of which every replica keeps the sums of its share
// alone, and weights of which it keeps its share alone. Whole tensors exist for as long as somebody computes with them:
// in rooms, a unit (a layer, the embeddings, the head) at a time. Collectives are called in the order in which units
// are asked for and reported, which is the same on all replicas because all run the same schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "libcore/comm/communicator.h"
#include "libcore/device/stream.h"
#include "libcore/parallel/data_parallel.h"
#include "libcore/parallel/sharding.h"
#include "libcore/tensor/view.h"

namespace convoy::parallel {

// Of every parameter of this rank in table order.
struct ShardedTensors {
  Sharding sharding = {};
  std::vector<Unit> units = {};  // cut the table without a rest
  // Where the model reads the weights, of any dtype, and adds the gradients, fp32: whole and dense. Rooms, where shared
  // (weights under ZeRO 3, gradients), of which those of gradients are zero at the start.
  std::vector<tensor::MutableView> weights = {}, gradients = {};
  // This rank's shares, flat; empty vectors where not shared.
  std::vector<tensor::MutableView> weight_shares = {}, gradient_shares = {};
};

class LayerShards {
 public:
  // Under ZeRO 0 and 1, or on one rank, all of it does nothing.
  LayerShards(comm::Communicator& data, ShardedTensors tensors, const DataParallelOptions& options);
  ~LayerShards();

  // Before something is added to the gradients of the unit of parameter `index`: waits until its room is empty.
  void gradients_needed(std::size_t index);
  // The gradients of parameters [begin, end) are those of one micro-batch, final: their sums over the replicas are
  // added to the shares, and their rooms emptied. Each index once a micro-batch, in the same order on all replicas.
  void ready(std::size_t begin, std::size_t end);
  // Waits until everything that was reported is in the shares. Rethrows what an exchange threw.
  void finish();

  // Before the weights of the unit of parameter `index` are read, by a pass that goes on to the unit of parameter
  // `next` (kNone: to none): waits until they are here. Until the next call that needs the same room they stay.
  static constexpr std::size_t kNone = SIZE_MAX;
  void weights_needed(std::size_t index, std::size_t next);
  // After every change of the shares of the weights. ZeRO 2: they reach all replicas; ZeRO 3: what was gathered counts
  // no more. Collective under ZeRO 2.
  void weights_changed(device::Stream& stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace convoy::parallel
