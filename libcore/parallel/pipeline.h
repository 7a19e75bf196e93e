// SPDX-License-Identifier: Apache-2.0
// The one executor of pipeline schedules: a loop over actions.
#pragma once

#include <vector>

#include "libcore/comm/communicator.h"
#include "libcore/device/stream.h"
#include "libcore/parallel/pipeline_schedule.h"
#include "libcore/tensor/view.h"

namespace convoy::parallel {

// What the executor drives: one stage's chunks of the model, each by itself.
class PipelineStage {
 public:
  virtual ~PipelineStage() = default;
  virtual void forward(int micro_batch, int chunk) = 0;
  virtual void backward_input(int micro_batch, int chunk) = 0;
  virtual void backward_weight(int micro_batch, int chunk) = 0;
  // Dense buffers at the borders. input: where the received activations go, before forward; output: what forward left.
  virtual tensor::MutableView input(int micro_batch, int chunk) = 0;
  virtual tensor::View output(int micro_batch, int chunk) = 0;
  // output_gradient: where the received gradient goes, before backward_input; input_gradient: what backward_input left.
  virtual tensor::MutableView output_gradient(int micro_batch, int chunk) = 0;
  virtual tensor::View input_gradient(int micro_batch, int chunk) = 0;
};

// `pipeline`: rank in it is the stage; with several chunks a stage the last one sends to the first. Every stage calls
// it with its own list of the same schedule.
void execute(device::Stream& stream, const std::vector<Action>& actions, PipelineStage& stage,
             comm::Communicator& pipeline);

}  // namespace convoy::parallel
