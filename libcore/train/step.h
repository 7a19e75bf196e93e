// SPDX-License-Identifier: Apache-2.0
// One training step: accumulate the micro-batches of a global batch, look at the result, update.
#pragma once

#include <cstdint>

#include "libcore/model/model.h"
#include "libcore/optim/adamw.h"
#include "libcore/train/loader.h"

namespace convoy::train {

struct StepResult {
  double loss = 0.0;       // per counted target of the global batch
  double grad_norm = 0.0;  // before clipping
  std::int64_t targets = 0;
  bool finite = true;  // false: nothing was updated
};

// What a step works on.
struct StepContext {
  device::Stream& stream;
  model::Parameters& parameters;
  model::Model& model;
  optim::AdamW& optimizer;
};

// The gradients of the mean loss over the batch's counted targets, and that loss. The count of the whole batch is known
// before the first backward pass, so the division happens on the way: gradients come out divided.
StepResult accumulate(const StepContext& context, const GlobalBatch& batch);

// Update number `update` (from 1) at `rate`, with the norm that accumulate() found.
void apply(const StepContext& context, double rate, std::int64_t update, double grad_norm);

}  // namespace convoy::train
