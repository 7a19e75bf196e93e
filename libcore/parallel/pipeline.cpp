// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/pipeline.h"

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

void execute_one(device::Stream& stream, const Action& action, PipelineStage& stage, comm::Communicator& pipeline) {
  const int before = pipeline.rank() - 1, behind = pipeline.rank() + 1, i = action.micro_batch;
  switch (action.kind) {
    case ActionKind::kReceiveForward:
      return pipeline.receive(stream, stage.input(i), before);
    case ActionKind::kForward:
      return stage.forward(i);
    case ActionKind::kSendForward:
      return pipeline.send(stream, stage.output(i), behind);
    case ActionKind::kReceiveBackward:
      return pipeline.receive(stream, stage.output_gradient(i), behind);
    case ActionKind::kBackwardInput:
      return stage.backward_input(i);
    case ActionKind::kSendBackward:
      return pipeline.send(stream, stage.input_gradient(i), before);
    case ActionKind::kBackwardWeight:
      return stage.backward_weight(i);
  }
  throw InternalError("unknown pipeline action");
}

}  // namespace

void execute(device::Stream& stream, const std::vector<Action>& actions, PipelineStage& stage,
             comm::Communicator& pipeline) {
  for (const Action& action : actions) execute_one(stream, action, stage, pipeline);
}

}  // namespace convoy::parallel
