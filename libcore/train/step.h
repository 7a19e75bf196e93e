// SPDX-License-Identifier: Apache-2.0
// One training step over all ranks: accumulate the micro-batches of a global batch, sum over the replicas, look at the
// result together, update.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libcore/model/model.h"
#include "libcore/optim/adamw.h"
#include "libcore/parallel/data_parallel.h"
#include "libcore/parallel/groups.h"
#include "libcore/parallel/partial_sums.h"
#include "libcore/parallel/pipeline_schedule.h"
#include "libcore/train/faults.h"
#include "libcore/train/loader.h"

namespace convoy::train {

struct StepResult {
  double loss = 0.0;       // per counted target of the global batch
  double grad_norm = 0.0;  // before clipping
  std::int64_t targets = 0;
  bool finite = true;  // false: nothing is updated
};

// What a step works on: this rank's part of everything.
struct StepContext {
  device::Stream& stream;
  const parallel::Groups& groups;
  const std::vector<parallel::Action>& actions;  // of this rank's stage
  model::Parameters& parameters;
  model::Model& model;
  parallel::PartialSums& partial_sums;
  parallel::DataParallel& data_parallel;
  optim::AdamW& optimizer;
  const Faults& faults;
  std::vector<double>* losses =
      nullptr;              // where the last stage keeps each micro-batch's sum of losses, if anybody asks
  double loss_scale = 1.0;  // of the gradients while they are computed and summed

  trace::Recorder* recorder() const { return stream.lane().recorder; }  // of the stream; null: nothing is recorded
};

// Indices of the tied embedding's copies that the pipeline cuts apart: their gradients are summed first.
std::vector<std::size_t> tied_ends(const model::Parameters& parameters);

// The gradients of the mean loss over the counted targets of the whole global batch, of which `batch` is this replica's
// part, summed over the replicas and without the loss scale. The count of all is known before the first backward pass,
// so the division happens on
// the way. Returns that count.
std::int64_t accumulate(const StepContext& context, const GlobalBatch& batch, double& loss_sum);

// Loss and gradient norm, the same bits on every rank. `votes` are summed over all ranks on the way.
StepResult judge(const StepContext& context, std::int64_t targets, double loss_sum, std::span<double> votes);

// Update number `update` (from 1) at `rate`, with the norm that judge() found.
void apply(const StepContext& context, double rate, std::int64_t update, double grad_norm);

// Brings the other replicas' shares of the weights here, and packs them: after every change of the masters.
void share_weights(const StepContext& context);

}  // namespace convoy::train
