// SPDX-License-Identifier: Apache-2.0
#include "tests/equivalence/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "libcore/train/weights.h"

namespace convoy::equivalence {
namespace {

using train::Compared;

constexpr double kPeakRate = 3e-3;
constexpr int kWarmUp = 3;

bool is_fp32(const Row& row) { return row.options.device.precision == "fp32"; }

// Everything that one rank's run depends on.
std::string key_of(const Row& row) {
  const model::Config model = model_of(row);
  const config::ModelOptions& options = row.options.model;
  return fmt::format("{} {} {} {} {} {} {}", row.llama, model.layers, model.heads, options.tie_embeddings,
                     options.attention_reset_at_document, options.dropout.value_or(0.0),
                     *row.options.batch.global_batch);
}

// What one rank is trained with, for every row that it serves.
train::CheckSettings in_fp32(Row row, int steps) {
  row.options.device.precision = "fp32";
  row.options.layout.reduction = "bucket";
  return settings_of(row, steps);
}

double largest(const train::LayoutReport& report, Compared what, std::size_t first, std::size_t last) {
  double most = 0.0;
  for (std::size_t step = first; step <= last && step < report.steps.size(); ++step)
    most = std::max(most, report.steps[step][static_cast<std::size_t>(what)]);
  return most;
}

}  // namespace

train::CheckSettings settings_of(const Row& row, int steps) {
  train::CheckSettings settings;
  settings.steps = is_fp32(row) ? steps : std::min(steps, kHalfSteps);
  settings.overlap = row.options.layout.overlap;
  settings.tree = row.options.layout.reduction == "tree";
  settings.precision = train::compute_dtype(row.options.device.precision);
  settings.documents = row.options.model.attention_reset_at_document;
  settings.schedule = {.kind = optim::ScheduleKind::kCosine,
                       .peak = kPeakRate,
                       .minimum = kPeakRate / 10.0,
                       .warmup_steps = kWarmUp,
                       .decay_steps = std::max(steps, kWarmUp + 1)};  // of the longest row: all follow one schedule
  settings.early = is_fp32(row) ? kEarly : kHalf;
  settings.late = is_fp32(row) ? kLate : kHalf;
  settings.early.weight_scale = settings.late.weight_scale = kPeakRate;
  settings.early_steps = kEarlySteps;
  settings.watchdog_seconds = 120.0;
  return settings;
}

Outcome Matrix::run(const Row& row, const train::CheckSettings& settings) {
  const auto start = std::chrono::steady_clock::now();
  const train::SmallRun run = run_of(row);
  const std::string key = key_of(row);
  auto reference = references_.find(key);
  if (reference == references_.end())
    reference = references_.emplace(key, train::train_on_one_rank(run, 1, in_fp32(row, steps_))).first;
  Outcome outcome{row, train::check_layout(run, settings, reference->second), 0.0};
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

Outcome Matrix::run(const Row& row, const std::function<void(train::CheckSettings&)>& change) {
  train::CheckSettings settings = settings_of(row, steps_);
  change(settings);
  return run(row, settings);
}

std::string table_head() {
  return fmt::format("{:<72} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>5}  {}", "layout | model", "loss 1-3", "norm 1-3",
                     "grad 1-3", "loss", "norm", "weights", "s", "verdict");
}

std::string text_of(const Outcome& outcome) {
  const train::LayoutReport& report = outcome.report;
  const std::size_t end = report.steps.size();
  const auto early_loss =
      std::max(largest(report, Compared::kLoss, 1, kEarlySteps), largest(report, Compared::kStepLoss, 1, kEarlySteps));
  const auto loss = std::max(largest(report, Compared::kLoss, 1, end), largest(report, Compared::kStepLoss, 1, end));
  std::string text =
      fmt::format("{:<72} {:>8.1e} {:>8.1e} {:>8.1e} {:>8.1e} {:>8.1e} {:>8.1e} {:>5.1f}  {}", text_of(outcome.row),
                  early_loss, largest(report, Compared::kNorm, 1, kEarlySteps),
                  largest(report, Compared::kGradient, 1, kEarlySteps), loss, largest(report, Compared::kNorm, 1, end),
                  largest(report, Compared::kWeight, 0, end), outcome.seconds, report.equal() ? "equal" : "DIFFERENT");
  if (report.first) text += fmt::format("\n    first at {}", train::text_of(*report.first));
  return text;
}

}  // namespace convoy::equivalence
