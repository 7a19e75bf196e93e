// SPDX-License-Identifier: Apache-2.0
// The rows of metrics.jsonl and events.jsonl as text. Metrics hold only values that the same run reproduces to the
// byte; times and memory go to events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace convoy::train {

struct StepMetrics {
  std::int64_t step = 0;    // attempted global batches, from 1
  std::int64_t update = 0;  // successful ones so far
  double loss = 0.0;        // not finite: printed as null
  double grad_norm = 0.0;
  double lr = 0.0;
  std::int64_t tokens = 0;   // counted targets of this step
  std::int64_t samples = 0;  // of this step; not printed
  std::int64_t consumed_samples = 0;
  std::int64_t skipped = 0;               // steps skipped so far
  std::optional<double> loss_scale = {};  // of this step, in fp16
};

struct EvalMetrics {
  std::int64_t step = 0;
  std::string set;
  double loss = 0.0;
  std::int64_t tokens = 0;  // counted targets
};

struct Timing {
  std::int64_t step = 0;
  double step_seconds = 0.0;
  double tokens_per_second = 0.0;
  double tflops_per_device = 0.0;
  std::optional<double> mfu;  // where the device's peak is known
  std::int64_t memory_bytes = 0;
};

std::string metrics_row(const StepMetrics& step);
std::string metrics_row(const EvalMetrics& evaluation);
std::string event_row(const Timing& timing);

}  // namespace convoy::train
