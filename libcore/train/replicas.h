// SPDX-License-Identifier: Apache-2.0
// Whether ranks that must hold the same numbers do (--check-replicas-every): weights and optimizer states of a tensor's
// same part, over data-parallel replicas, tensor-parallel ranks (norms, shared key/value heads) and the ends of the
// pipeline (a tied embedding). Every rank computes them for itself from equal sums, so a difference is a fault of a
// machine or of this program, and nothing else would show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libcore/comm/communicator.h"
#include "libcore/model/config.h"
#include "libcore/model/parameters.h"
#include "libcore/optim/adamw.h"
#include "libcore/parallel/mesh.h"

namespace convoy::train {

class Replicas {
 public:
  // `compute`: of the weights; unless it is fp32 there are masters beside them.
  Replicas(const model::Config& config, const parallel::Layout& layout, tensor::DType compute);

  // Whether any two ranks hold the same. Under ZeRO a state that one replica alone holds has nothing to be compared
  // with.
  bool any() const { return any_; }

  // Collective over `world`: who holds what differently, the same text on every rank; empty if nobody does. Where more
  // than half of the holders of something agree, the others are named.
  std::string differences(device::Stream& stream, comm::Communicator& world, const model::Parameters& parameters,
                          const optim::AdamW& optimizer) const;

 private:
  std::vector<std::int64_t> hashes(const model::Parameters& parameters, const optim::AdamW& optimizer) const;
  std::string differences(std::span<const std::int64_t> hashes, const comm::Communicator& world) const;

  const bool with_master_;
  bool any_ = false;
  std::vector<std::string> things_;                // "first moment of lm_head.weight", a part of it
  std::vector<std::vector<std::size_t>> held_by_;  // for each rank the things, in the order of its hashes
};

}  // namespace convoy::train
