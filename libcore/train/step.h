// SPDX-License-Identifier: Apache-2.0
// One training step over all ranks: accumulate the micro-batches of a global batch, sum over the replicas, look at the
// result together, update.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libcore/base/exact_sum.h"
#include "libcore/model/model.h"
#include "libcore/optim/adamw.h"
#include "libcore/parallel/data_parallel.h"
#include "libcore/parallel/gradient_tree.h"
#include "libcore/parallel/groups.h"
#include "libcore/parallel/layer_shards.h"
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
  parallel::GradientTree* tree = nullptr;   // that the data-parallel sums are made in, if one is asked for
  parallel::LayerShards* shards = nullptr;  // null: nothing is shared but optimizer states

  // The gradients of every micro-batch are summed by themselves, and not those of the step.
  bool reduces_each() const { return tree != nullptr || parameters.sharding().gradients; }

  trace::Recorder* recorder() const { return stream.lane().recorder; }  // of the stream; null: nothing is recorded
};

// The gradients of the mean loss over the counted targets of the whole global batch, of which `batch` is this replica's
// part, summed over the replicas and without the loss scale. The count of all is known before the first backward pass,
// so the division happens on the way. Returns that count. `loss_sum`: of this rank's micro-batches, in the last stage.
//
// With a tree the sums over micro-batches and replicas are whole before tensor-parallel ranks and the pipeline's ends
// add theirs: a rank's number of micro-batches changes no rounding.
std::int64_t accumulate(const StepContext& context, const GlobalBatch& batch, ExactSum& loss_sum);

// Loss and gradient norm, the same bits on every rank, and however micro-batches and elements are spread over the
// replicas. `votes` are summed over all ranks on the way.
StepResult judge(const StepContext& context, std::int64_t targets, ExactSum loss_sum, std::span<std::int64_t> votes);

// Update number `update` (from 1) at `rate`, with the norm that judge() found.
void apply(const StepContext& context, double rate, std::int64_t update, double grad_norm);

// Brings the other replicas' shares of the weights here, and packs them: after every change of the masters. Under
// ZeRO 3 they are brought when they are needed.
void share_weights(const StepContext& context);

}  // namespace convoy::train
