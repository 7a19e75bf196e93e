// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/pipeline.h"

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

void execute_one(device::Stream& stream, const Action& action, PipelineStage& stage, comm::Communicator& pipeline) {
  const int stages = pipeline.size(), i = action.micro_batch, chunk = action.chunk;
  const int before = (pipeline.rank() + stages - 1) % stages, behind = (pipeline.rank() + 1) % stages;
  switch (action.kind) {
    case ActionKind::kReceiveForward:
      return pipeline.receive(stream, stage.input(i, chunk), before);
    case ActionKind::kForward:
      return stage.forward(i, chunk);
    case ActionKind::kSendForward:
      return pipeline.send(stream, stage.output(i, chunk), behind);
    case ActionKind::kReceiveBackward:
      return pipeline.receive(stream, stage.output_gradient(i, chunk), behind);
    case ActionKind::kBackwardInput:
      return stage.backward_input(i, chunk);
    case ActionKind::kSendBackward:
      return pipeline.send(stream, stage.input_gradient(i, chunk), before);
    case ActionKind::kBackwardWeight:
      return stage.backward_weight(i, chunk);
  }
  throw InternalError("unknown pipeline action");
}

}  // namespace

void execute(device::Stream& stream, const std::vector<Action>& actions, PipelineStage& stage,
             comm::Communicator& pipeline) {
  for (const Action& action : actions) execute_one(stream, action, stage, pipeline);
}

}  // namespace convoy::parallel
