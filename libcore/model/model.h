// SPDX-License-Identifier: Apache-2.0
// A decoder-only language model: embedding, L blocks, final norm and classifier, forward and hand-written backward over
// a Parameters. All memory is taken at construction; a step allocates nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "libcore/model/parameters.h"

namespace convoy::model {

// One micro-batch.
struct Batch {
  tensor::View tokens;   // [B, T] i32
  tensor::View targets;  // [B, T] i32, ops::kIgnoredTarget where none counts
  tensor::View
      positions;  // [B, T] i32 optional: position in its own document; absent: 0 .. T-1 and one document a window
};

struct LossSum {
  double sum = 0.0;          // of -ln p(target) over the counted targets
  std::int64_t targets = 0;  // how many counted

  LossSum& operator+=(const LossSum& other) {
    sum += other.sum;
    targets += other.targets;
    return *this;
  }
};

class Model {
 public:
  // `batch` = B sequences a micro-batch, `sequence` = T at most. `training` false saves no activations for backward.
  Model(device::Stream& stream, const Config& config, Parameters& parameters, std::int64_t batch, std::int64_t sequence,
        bool training);
  ~Model();

  // Reads the weights into the form the products want; call after every change of the weights, before the next forward.
  void pack(device::Stream& stream);

  // Forward and backward: adds the gradients of (gradient_scale x the sum of token losses) to parameters.gradient().
  LossSum forward_backward(device::Stream& stream, const Batch& batch, float gradient_scale);
  // Forward alone. Leaves everything that training uses as it was.
  LossSum evaluate(device::Stream& stream, const Batch& batch);
  // Logits of one position (row `row` of the B T rows): fp32, V of them.
  void logits(device::Stream& stream, const Batch& batch, std::int64_t row, tensor::MutableView out);

  std::size_t activation_bytes() const;
  std::size_t packed_bytes() const;

 private:
  struct Network;
  std::unique_ptr<Network> network_;
};

}  // namespace convoy::model
