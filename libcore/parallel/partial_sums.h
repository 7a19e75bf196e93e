// SPDX-License-Identifier: Apache-2.0
// Gradients of which every tensor-parallel rank has one term: summed over the ranks that hold the same part of the
// tensor, before they are reduced over the replicas.
#pragma once

#include <cstddef>
#include <vector>

#include "libcore/comm/communicator.h"
#include "libcore/device/arena.h"
#include "libcore/device/stream.h"
#include "libcore/tensor/view.h"

namespace convoy::parallel {

struct PartialGradient {
  std::size_t parameter = 0;     // index in the rank's table
  tensor::MutableView gradient;  // fp32, dense, of the same size on every rank
  int part = 0, parts = 1;       // the group holds `parts` different parts of the tensor, this rank number `part`
};

class PartialSums {
 public:
  // `tensor`: the tensor-parallel group. `gradients` ascend by `parameter`; every rank lists the same parameters.
  PartialSums(comm::Communicator& tensor, std::vector<PartialGradient> gradients);

  // Collective: those of parameters [begin, end) become their sums, the same bits on all ranks of a part. One call of
  // the communicator, whatever the number of tensors.
  void sum(device::Stream& stream, std::size_t begin, std::size_t end);

 private:
  comm::Communicator& tensor_;
  const std::vector<PartialGradient> gradients_;
  device::Buffer staging_;
};

}  // namespace convoy::parallel
