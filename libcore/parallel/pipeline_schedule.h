// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules as data: what a stage does for one global batch, in order. Pure; the executor, the predicted
// bubble and the proofs that nothing waits for ever all read the same lists. GPipe: Huang et al., 2019. 1F1B: Narayanan
// et al., 2019 and 2021 (its synchronous form, and the interleaved one: every stage has several chunks of layers, chunk
// c of stage s stands in the model's chunk c p + s of p v). The split of backward into its input and weight parts: Qi
// et al., 2023 ("Zero bubble pipeline parallelism").
#pragma once

#include <vector>

#include "libcore/parallel/mesh.h"

namespace convoy::parallel {

enum class ActionKind {
  kReceiveForward,  // the activations of the stage before; of the last one, where a chunk but the first begins
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
  int chunk = 0;  // of the stage
  friend bool operator==(const Action&, const Action&) = default;
};

// The list of stage `stage` of `stages` for any number of micro-batches from 1. The model's first chunk receives no
// activations and sends no gradients, its last the other way round. A send never waits for its receiver, and a stage
// receives from each other one in the order in which that one sends.
//
// Interleaved, micro-batches go in groups of `stages` through one chunk after the other. The last group may be short:
// the list is then that of a whole one, without the actions of the micro-batches that there are not, so that it is in
// an order in which everything can run as well. Of equal chunks the bubble is (p - 1) / (v m + p - 1) where p divides
// m, and larger where it does not; that of the others is (p - 1) / (m + p - 1) for every m.
std::vector<Action> pipeline_schedule(ScheduleKind kind, int stages, int micro_batches, int stage,
                                      int virtual_stages = 1);

// Forward alone, for evaluation.
std::vector<Action> forward_schedule(int stages, int micro_batches, int stage, int virtual_stages = 1);

// For each of the stage's chunks, the largest number of micro-batches that are between their forward and their
// backward-weight at one time: how many sets of activations the stage keeps for it. Micro-batch i uses set i modulo
// this number.
std::vector<int> activation_sets(const std::vector<Action>& actions);

}  // namespace convoy::parallel
