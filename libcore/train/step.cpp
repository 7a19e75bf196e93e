// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/step.h"

#include <cmath>

namespace convoy::train {

StepResult accumulate(const StepContext& context, const GlobalBatch& batch) {
  context.parameters.zero_gradients(context.stream);
  StepResult result;
  result.targets = batch.targets();
  // Without a counted target the loss is 0 / 0: not finite, and the step is skipped like any other of that kind.
  const double share = result.targets > 0 ? 1.0 / static_cast<double>(result.targets) : 0.0;
  double sum = 0.0;
  for (const MicroBatch& micro_batch : batch.micro_batches()) {
    sum += context.model.forward_backward(context.stream, micro_batch.batch(), static_cast<float>(share)).sum;
  }
  result.loss = sum / static_cast<double>(result.targets);
  result.grad_norm = std::sqrt(context.optimizer.gradient_squares(context.stream));
  result.finite = std::isfinite(result.loss) && std::isfinite(result.grad_norm);
  return result;
}

void apply(const StepContext& context, double rate, std::int64_t update, double grad_norm) {
  context.optimizer.step(context.stream, rate, update, grad_norm);
  context.model.pack(context.stream);
}

}  // namespace convoy::train
