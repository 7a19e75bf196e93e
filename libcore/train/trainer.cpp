// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/ops/backend.h"
#include "libcore/train/weights.h"

namespace convoy::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

tensor::DType compute_dtype(const PreparedRun& run) {
  return run.options.device.precision == "bf16" ? tensor::DType::kBF16 : tensor::DType::kF32;
}

optim::AdamWConstants constants_of(const config::OptimizerOptions& options) {
  return {.beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .weight_decay = options.weight_decay,
          .clip_norm = options.clip_norm};
}

optim::LrSchedule schedule_of(const PreparedRun& run) {
  const config::OptimizerOptions& options = run.options.optimizer;
  return {.kind = options.schedule == "constant" ? optim::ScheduleKind::kConstant : optim::ScheduleKind::kCosine,
          .peak = options.lr,
          .minimum = run.resolved.min_lr,
          .warmup_steps = options.warmup_steps,
          .decay_steps = run.resolved.decay_steps};
}

SampleRules rules_of(const PreparedRun& run) {
  return {.vocabulary = run.model.vocabulary,
          .document_positions = run.options.model.attention_reset_at_document,
          .ignore_after = run.resolved.eos_id};
}

data::DataOrder order_of(const PreparedRun& run) {
  return run.options.data.order == "sequential" ? data::DataOrder::kSequential : data::DataOrder::kShuffled;
}

std::vector<EvaluationSet> evaluation_sets(const PreparedRun& run) {
  std::vector<EvaluationSet> sets;
  for (const NamedDataset& valid : run.valid) {
    data::Sampler sampler(valid.dataset.tokens(), run.resolved.sequence_length, data::DataOrder::kSequential, 0);
    const std::int64_t limit = run.options.output.eval_steps * run.resolved.global_batch;
    const std::int64_t samples = limit == 0 ? sampler.windows() : std::min(sampler.windows(), limit);
    sets.push_back({valid.name, &valid.dataset, sampler, samples});
  }
  return sets;
}

}  // namespace

Trainer::Trainer(const PreparedRun& run, const RunDirectory& directory, RunLog& log)
    : run_(run),
      directory_(directory),
      log_(log),
      stream_(ops::cpu_backend(), run.resolved.threads),
      parameters_(model::parameter_table(run.model), compute_dtype(run), true),
      optimizer_(parameters_, constants_of(run.options.optimizer)),
      model_(stream_, run.model, parameters_, run.resolved.micro_batch, run.resolved.sequence_length, true),
      schedule_(schedule_of(run)),
      rules_(rules_of(run)),
      sampler_(run.data.tokens(), run.resolved.sequence_length, order_of(run),
               static_cast<std::uint64_t>(run.options.data.seed)),
      batch_(run.resolved.micro_batches, run.resolved.micro_batch, run.resolved.sequence_length, rules_),
      evaluation_sets_(evaluation_sets(run)),
      evaluation_batch_(run.resolved.micro_batch, run.resolved.sequence_length, rules_.document_positions) {
  if (run.init_from) {
    load(stream_, parameters_, *run.init_from, optimizer_);
  } else {
    initialise(stream_, parameters_, static_cast<std::uint64_t>(run.options.data.seed), optimizer_);
  }
  model_.pack(stream_);
}

void Trainer::train() {
  log_.started();
  last_save_ = Clock::now();
  while (!is_last()) {
    const Clock::time_point start = Clock::now();
    const StepMetrics metrics = train_step();
    // Every op has now run in the shapes that come again; those of evaluation are among them.
    stream_.seal_scratch();
    log_.step(metrics, seconds_since(start));
    stop_without_progress();
    if (evaluation_is_due()) evaluate_all();
    if (save_is_due()) save();
  }
  log_.finished();
}

StepMetrics Trainer::train_step() {
  ++step_;
  batch_.load(run_.data, sampler_, consumed_samples_);
  consumed_samples_ += run_.resolved.global_batch;
  const double rate = schedule_.rate(update_);
  StepResult result = accumulate(context(), batch_);
  if (run_.options.output.dump_gradients == step_) dump_gradients(directory_.gradients(step_), parameters_);
  if (result.finite) {
    apply(context(), rate, ++update_, result.grad_norm);
    skipped_in_a_row_ = 0;
  } else {
    skip(result);
  }
  return {.step = step_,
          .update = update_,
          .loss = result.loss,
          .grad_norm = result.grad_norm,
          .lr = rate,
          .tokens = result.targets,
          .consumed_samples = consumed_samples_,
          .skipped = step_ - update_};
}

// What such a step says of itself is neither drawn nor averaged, even where one of the two is finite.
void Trainer::skip(StepResult& result) {
  ++skipped_in_a_row_;
  const auto shown = [](double x) { return std::isfinite(x) ? fmt::format("{:.4g}", x) : std::string("not finite"); };
  log_.skipped(step_, fmt::format("loss {}, gradient norm {}", shown(result.loss), shown(result.grad_norm)));
  result.loss = result.grad_norm = std::numeric_limits<double>::quiet_NaN();
}

void Trainer::stop_without_progress() const {
  const std::int64_t limit = run_.options.optimizer.max_skipped_steps;
  if (skipped_in_a_row_ == 0 || skipped_in_a_row_ < limit) return;
  throw NumericsError(
      fmt::format("step {}: loss or gradient norm was not finite {} times in a row (--max-skipped-steps {}), so "
                  "nothing is learned any more: "
                  "lower --lr, lengthen --warmup-steps, or look at the data of samples {} to {}",
                  step_, skipped_in_a_row_, limit, consumed_samples_ - run_.resolved.global_batch * skipped_in_a_row_,
                  consumed_samples_ - 1));
}

bool Trainer::evaluation_is_due() const {
  const std::int64_t every = run_.options.output.eval_every;
  return !evaluation_sets_.empty() && (is_last() || (every > 0 && step_ % every == 0));
}

void Trainer::evaluate_all() {
  for (const EvaluationSet& set : evaluation_sets_) {
    const Clock::time_point start = Clock::now();
    EvalMetrics metrics = evaluate(stream_, model_, set, rules_, evaluation_batch_);
    metrics.step = step_;
    log_.evaluated(metrics, seconds_since(start));
  }
}

bool Trainer::save_is_due() const {
  const config::Cadence& every = run_.resolved.checkpoint_every;
  if (is_last() || (every.steps > 0 && step_ % every.steps == 0)) return true;
  return every.seconds > 0.0 && seconds_since(last_save_) >= every.seconds;
}

void Trainer::save() {
  const Clock::time_point start = Clock::now();
  const Path folder = directory_.checkpoint(step_);
  train::save(folder, run_.model, parameters_, optimizer_);
  const double seconds = seconds_since(start);
  log_.saved(step_, folder, seconds, seconds);
  last_save_ = Clock::now();
}

std::string Trainer::memory_summary() const {
  const double count = static_cast<double>(model::parameter_count(model::parameter_table(run_.model)));
  const bool has_master = parameters_.compute_dtype() != tensor::DType::kF32;
  const double weights = count * static_cast<double>(tensor::size_of(parameters_.compute_dtype()));
  const double gradients = 4.0 * count;
  const double optimizer = (has_master ? 12.0 : 8.0) * count;
  const double activations = static_cast<double>(model_.activation_bytes());
  const double packed = static_cast<double>(model_.packed_bytes());
  return fmt::format("{} = weights {}, gradients {}, optimizer {}, activations {}, packed weights {}",
                     format_bytes(weights + gradients + optimizer + activations + packed), format_bytes(weights),
                     format_bytes(gradients), format_bytes(optimizer), format_bytes(activations), format_bytes(packed));
}

}  // namespace convoy::train
