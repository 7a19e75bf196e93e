// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules as data: what a stage does for one global batch, in order. Pure; the executor, the predicted
// bubble and the proofs that nothing waits for ever all read the same lists. GPipe: Huang et al., 2019. 1F1B: Narayanan
// et al., 2019 and 2021 (its non-interleaved, synchronous form). The split of backward into its input and weight parts:
// Qi et al., 2023 ("Zero bubble pipeline parallelism").
#pragma once

#include <vector>

#include "libcore/parallel/mesh.h"

namespace convoy::parallel {

enum class ActionKind {
  kReceiveForward,  // the activations of the stage before
  kForward,
  kSendForward,
  kReceiveBackward,  // the gradient of the stage behind
  kBackwardInput,    // the gradient of the stage's input
  kSendBackward,
  kBackwardWeight,  // the gradients of the stage's weights
};

struct Action {
  ActionKind kind = ActionKind::kForward;
  int micro_batch = 0;
  friend bool operator==(const Action&, const Action&) = default;
};

// The list of stage `stage` of `stages` for any number of micro-batches from 1. The first stage receives no activations
// and sends no gradients, the last the other way round. A send never waits for its receiver.
std::vector<Action> pipeline_schedule(ScheduleKind kind, int stages, int micro_batches, int stage);

// Forward alone, for evaluation.
std::vector<Action> forward_schedule(int stages, int micro_batches, int stage);

// The largest number of micro-batches that are between their forward and their backward-weight at one time: how many
// sets of activations the stage keeps. Micro-batch i uses set i modulo this number.
int activation_sets(const std::vector<Action>& actions);

}  // namespace convoy::parallel
