// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/console.h"

#include <fmt/format.h>

#include <cmath>

#include "libcore/base/units.h"

namespace convoy::train {
namespace {

std::string step_of(std::int64_t step, std::int64_t steps) {
  const std::string total = fmt::format("{}", steps);
  return fmt::format("step {:>{}}/{}", step, total.size(), total);
}

std::string number_or_none(double value, int width, int precision) {
  return std::isfinite(value) ? fmt::format("{:{}.{}f}", value, width, precision)
                              : fmt::format("{:>{}}", "none", width);
}

}  // namespace

std::string step_line(const StepMetrics& step, const Timing& timing, std::int64_t steps,
                      std::optional<double> eta_seconds) {
  std::string line =
      fmt::format("{}  loss {}  lr {:.2e}  norm {}  {:>9} tokens/s  {:7.3f} TFLOP/s", step_of(step.step, steps),
                  number_or_none(step.loss, 8, 4), step.lr, number_or_none(step.grad_norm, 8, 3),
                  format_count(timing.tokens_per_second), timing.tflops_per_device);
  if (timing.mfu) line += fmt::format("  mfu {:4.1f} %", 100.0 * *timing.mfu);
  if (eta_seconds) line += fmt::format("  eta {}", format_seconds(*eta_seconds));
  if (step.loss_scale) line += fmt::format("  scale {}", *step.loss_scale);
  if (step.skipped > 0) line += fmt::format("  skipped {}", step.skipped);
  return line;
}

std::string eval_line(const EvalMetrics& evaluation, std::int64_t steps, double seconds) {
  return fmt::format("{}  eval {}: loss {}  perplexity {:.2f}  {} tokens in {}", step_of(evaluation.step, steps),
                     evaluation.set, number_or_none(evaluation.loss, 0, 4), std::exp(evaluation.loss),
                     format_count(static_cast<double>(evaluation.tokens)), format_seconds(seconds));
}

bool LinePacer::due(std::int64_t step, std::int64_t steps) {
  const Clock::time_point now = Clock::now();
  const bool by_time = every_ == 0 && std::chrono::duration<double>(now - last_).count() >= seconds_;
  const bool by_step = every_ > 0 && step % every_ == 0;
  if (!by_time && !by_step && step != 1 && step != steps) return false;
  last_ = now;
  return true;
}

}  // namespace convoy::train
