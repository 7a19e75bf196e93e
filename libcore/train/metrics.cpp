// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/metrics.h"

#include <cmath>

#include "libcore/base/json.h"

namespace convoy::train {

std::string metrics_row(const StepMetrics& step) {
  JsonObject row;
  row.add("kind", "step")
      .add("step", step.step)
      .add("update", step.update)
      .add("loss", step.loss)
      .add("grad_norm", step.grad_norm)
      .add("lr", step.lr)
      .add("tokens", step.tokens)
      .add("consumed_samples", step.consumed_samples)
      .add("skipped", step.skipped);
  if (step.loss_scale) row.add("loss_scale", *step.loss_scale);
  return row.text();
}

std::string metrics_row(const EvalMetrics& evaluation) {
  return JsonObject()
      .add("kind", "eval")
      .add("step", evaluation.step)
      .add("set", evaluation.set)
      .add("loss", evaluation.loss)
      .add("perplexity", std::exp(evaluation.loss))
      .add("tokens", evaluation.tokens)
      .text();
}

std::string event_row(const Timing& timing) {
  JsonObject row;
  row.add("kind", "timing")
      .add("step", timing.step)
      .add("step_seconds", timing.step_seconds)
      .add("tokens_per_second", timing.tokens_per_second)
      .add("tflops_per_device", timing.tflops_per_device);
  if (timing.mfu) {
    row.add("mfu", *timing.mfu);
  } else {
    row.add_raw("mfu", "null");
  }
  return row.add("memory_bytes", timing.memory_bytes).text();
}

}  // namespace convoy::train
