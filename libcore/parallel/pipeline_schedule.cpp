// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/pipeline_schedule.h"

#include <algorithm>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

// Appends one stage's actions, with the messages that the stage's place in the pipeline asks for.
class ListWriter {
 public:
  ListWriter(int stages, int micro_batches, int stage) : first_(stage == 0), last_(stage == stages - 1) {
    check(stages >= 1 && stage >= 0 && stage < stages, "a schedule is for one of the stages");
    check(micro_batches >= 1, "a schedule has micro-batches");
  }

  void forward(int micro_batch) {
    if (!first_) add(ActionKind::kReceiveForward, micro_batch);
    add(ActionKind::kForward, micro_batch);
    if (!last_) add(ActionKind::kSendForward, micro_batch);
  }

  // The stage before waits for the gradient of the input, so that leaves before the gradients of the weights are made.
  void backward(int micro_batch) {
    if (!last_) add(ActionKind::kReceiveBackward, micro_batch);
    add(ActionKind::kBackwardInput, micro_batch);
    if (!first_) add(ActionKind::kSendBackward, micro_batch);
    add(ActionKind::kBackwardWeight, micro_batch);
  }

  std::vector<Action> take() { return std::move(actions_); }

 private:
  void add(ActionKind kind, int micro_batch) { actions_.push_back({kind, micro_batch}); }

  bool first_, last_;
  std::vector<Action> actions_;
};

// How many micro-batches a stage forwards before its first backward: GPipe all; 1F1B as many as the pipeline behind it
// takes, and one.
int forwards_first(ScheduleKind kind, int stages, int micro_batches, int stage) {
  if (kind == ScheduleKind::kGpipe) return micro_batches;
  return std::min(micro_batches, stages - stage);
}

}  // namespace

std::vector<Action> pipeline_schedule(ScheduleKind kind, int stages, int micro_batches, int stage) {
  ListWriter list(stages, micro_batches, stage);
  const int ahead = forwards_first(kind, stages, micro_batches, stage);
  for (int i = 0; i < ahead; ++i) list.forward(i);
  for (int i = 0; i < micro_batches; ++i) {
    list.backward(i);
    if (ahead + i < micro_batches) list.forward(ahead + i);
  }
  return list.take();
}

std::vector<Action> forward_schedule(int stages, int micro_batches, int stage) {
  ListWriter list(stages, micro_batches, stage);
  for (int i = 0; i < micro_batches; ++i) list.forward(i);
  return list.take();
}

int activation_sets(const std::vector<Action>& actions) {
  int in_flight = 0, most = 0;
  for (const Action& action : actions) {
    if (action.kind == ActionKind::kForward) most = std::max(most, ++in_flight);
    if (action.kind == ActionKind::kBackwardWeight) --in_flight;
  }
  return most;
}

}  // namespace convoy::parallel
