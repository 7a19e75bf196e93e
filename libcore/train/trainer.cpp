// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/base/clock.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/train/gradients.h"
#include "libcore/train/states.h"

namespace convoy::train {
namespace {

using Clock = std::chrono::steady_clock;

double bytes_of(const std::vector<checkpoint::LocalState>& states) {
  double bytes = 0.0;
  for (const checkpoint::LocalState& state : states)
    bytes += static_cast<double>(state.data.count()) * static_cast<double>(tensor::size_of(state.data.dtype));
  return bytes;
}

}  // namespace

std::string Trainer::train(RunLog* log) {
  log_ = log;
  share_weights(context());
  if (log_ != nullptr && replicas_ && !replicas_->any())
    log_warning("--check-replicas-every compares nothing: in this layout no two ranks hold the same");
  last_save_ = Clock::now();
  while (!is_last() && stop_reason_.empty()) one_step();
  return is_last() ? "" : stop_reason_;
}

void Trainer::one_step() {
  setting_.recorder.begin_step(step_ + 1);
  const Clock::time_point start = Clock::now();
  const StepMetrics metrics = train_step();
  // Every op has now run in the shapes that come again; those of evaluation are among them.
  stream_.seal_scratch();
  if (log_ != nullptr) log_->step(metrics, seconds_since(start));
  stop_without_progress();
  std::uint32_t flags = 0;
  if (!std::isfinite(metrics.loss)) flags |= trace::kSkipped;
  if (evaluation_is_due()) {
    evaluate_all();
    flags |= trace::kEvaluated;
  }
  if (replica_check_is_due()) check_replicas();
  if (save_is_due()) {
    save();
    flags |= trace::kSaved;
  }
  if (!stop_reason_.empty()) flags |= trace::kStopping;
  setting_.recorder.end_step(static_cast<std::uint64_t>(samples_ * setting_.run.resolved.sequence_length), flags);
}

StepMetrics Trainer::train_step() {
  faults_.begin_step(++step_);
  load_batch();
  const double rate = schedule_.rate(update_);
  const std::optional<double> loss_scale = scaler_ ? std::optional(scaler_->scale()) : std::nullopt;
  ExactSum loss_sum;
  const std::int64_t targets = accumulate(context(), batch_, loss_sum);
  if (setting_.run.options.output.dump_gradients == step_)
    dump_gradients(setting_.directory.gradients(step_), setting_.run.model, context(), setting_.agreement);
  Votes sums = votes();
  StepResult result = judge(context(), targets, loss_sum, sums);
  count(sums);
  if (result.finite) {
    apply(context(), rate, ++update_, result.grad_norm);
    faults_.flip(parameters_, setting_.groups.layout);
    skipped_in_a_row_ = 0;
    if (scaler_) scaler_->finite_step();
  } else {
    skip(result);
  }
  return {.step = step_,
          .update = update_,
          .loss = result.loss,
          .grad_norm = result.grad_norm,
          .lr = rate,
          .tokens = result.targets,
          .samples = samples_,
          .consumed_samples = consumed_samples_,
          .skipped = step_ - update_,
          .loss_scale = loss_scale};
}

// Replica r takes slots [r B/DP, (r + 1) B/DP) of the global batch.
void Trainer::load_batch() {
  const trace::PhaseScope phase(&setting_.recorder, trace::Phase::kData);
  samples_ = setting_.run.resolved.batches.at(consumed_samples_);
  plan_micro_batches(samples_);
  faults_.run(&setting_.recorder, trace::Phase::kData, [&] {
    batch_.load(setting_.run.data, setting_.run.sampler,
                consumed_samples_ + setting_.groups.at.data * batch_.samples());
  });
  batch_.draw({.seed = static_cast<std::uint64_t>(setting_.run.options.data.seed),
               .step = step_,
               .first_slot = setting_.groups.at.data * batch_.samples()});
  if (setting_.run.options.rehearsal.log_samples) log_samples();
  consumed_samples_ += samples_;
  if (!is_last()) prefetch_batch();
}

// The disk brings the next step's windows while this one computes.
void Trainer::prefetch_batch() const {
  const std::int64_t mine = setting_.run.resolved.batches.at(consumed_samples_) / setting_.groups.layout.data;
  const std::int64_t first = consumed_samples_ + setting_.groups.at.data * mine;
  for (std::int64_t sample = first; sample < first + mine; ++sample) {
    const data::BlendedSampler::Window window = setting_.run.sampler.window(sample);
    setting_.run.data[window.set].prefetch(window.first_token, setting_.run.resolved.sequence_length + 1);
  }
}

// What the replicas have loaded, gathered: rank 0 is of the first replica. A sample is its set and its first token
// there.
void Trainer::log_samples() {
  const std::int64_t mine = batch_.samples(), replicas = setting_.groups.layout.data;
  std::vector<std::int64_t> own, all(static_cast<std::size_t>(2 * mine * replicas));
  const std::int64_t first = consumed_samples_ + setting_.groups.at.data * mine;
  for (std::int64_t i = 0; i < mine; ++i) {
    const data::BlendedSampler::Window window = setting_.run.sampler.window(first + i);
    own.insert(own.end(), {static_cast<std::int64_t>(window.set), window.first_token});
  }
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(replicas), 2 * mine);
  setting_.groups.data->all_gather(stream_, {own.data(), tensor::DType::kI64, {2 * mine}},
                                   {all.data(), tensor::DType::kI64, {2 * mine * replicas}, 0}, counts);
  if (log_ == nullptr) return;
  std::vector<data::BlendedSampler::Window> windows;
  for (std::size_t i = 0; i < all.size(); i += 2) windows.push_back({static_cast<std::size_t>(all[i]), all[i + 1]});
  log_->samples(step_, windows);
}

// What such a step says of itself is neither drawn nor averaged, even where one of the two is finite.
void Trainer::skip(StepResult& result) {
  const auto shown = [](double x) { return std::isfinite(x) ? fmt::format("{:.4g}", x) : std::string("not finite"); };
  std::string reason = fmt::format("loss {}, gradient norm {}", shown(result.loss), shown(result.grad_norm));
  // What a lower loss scale may cure is no lack of progress.
  if (!scaler_ || !scaler_->can_fall()) {
    if (++skipped_in_a_row_ == 1) first_skipped_sample_ = consumed_samples_ - samples_;
  }
  if (scaler_) {
    reason += fmt::format(", loss scale {}", scaler_->scale());
    scaler_->overflow();
    if (scaler_->is_dynamic()) reason += fmt::format(", next {}", scaler_->scale());
  }
  if (log_ != nullptr) log_->skipped(step_, reason);
  result.loss = result.grad_norm = std::numeric_limits<double>::quiet_NaN();
}

void Trainer::stop_without_progress() const {
  const std::int64_t limit = setting_.run.options.optimizer.max_skipped_steps;
  if (skipped_in_a_row_ == 0 || skipped_in_a_row_ < limit) return;
  setting_.agreement.alike([&] {
    throw NumericsError(
        fmt::format("step {}: loss or gradient norm was not finite {} times in a row (--max-skipped-steps {}), so "
                    "nothing is learned "
                    "any more: lower --lr, lengthen --warmup-steps, or look at the data of samples {} to {}",
                    step_, skipped_in_a_row_, limit, first_skipped_sample_, consumed_samples_ - 1));
  });
}

bool Trainer::evaluation_is_due() const {
  const std::int64_t every = setting_.run.options.output.eval_every;
  return !evaluation_sets_.empty() && (is_last() || (every > 0 && step_ % every == 0));
}

void Trainer::evaluate_all() {
  const trace::PhaseScope phase(&setting_.recorder, trace::Phase::kEvaluation);
  for (const EvaluationSet& set : evaluation_sets_) {
    const Clock::time_point start = Clock::now();
    EvalMetrics metrics = evaluate(stream_, model_, setting_.groups, set, rules_, evaluation_batch_);
    metrics.step = step_;
    if (log_ != nullptr) log_->evaluated(metrics, seconds_since(start));
  }
  listen();
}

// Only what every rank knows alike decides: the step, and what was voted.
bool Trainer::save_is_due() const {
  const config::Cadence& every = setting_.run.resolved.checkpoint_every;
  return is_last() || save_voted_ || !stop_reason_.empty() || (every.steps > 0 && step_ % every.steps == 0);
}

// Before every save too: what differs must not become a checkpoint.
bool Trainer::replica_check_is_due() const {
  const std::int64_t every = setting_.run.options.layout.check_replicas_every;
  return replicas_ && (step_ % every == 0 || save_is_due());
}

void Trainer::check_replicas() {
  const std::string found = replicas_->differences(stream_, *setting_.groups.world, parameters_, optimizer_);
  if (found.empty()) return;
  setting_.agreement.alike([&] {
    throw NumericsError(fmt::format(
        "step {}: ranks that must hold the same do not (--check-replicas-every {}): {}. A bit of a machine's "
        "memory or of a result was another one, unless it is a bug of ours. No checkpoint of this step was "
        "written; go on from one that was, without the node of that rank if it happens there again",
        step_, setting_.run.options.layout.check_replicas_every, found));
  });
}

Trainer::Votes Trainer::votes() const {
  Votes votes{};
  const cluster::StopReason reason = setting_.stop_requested ? setting_.stop_requested() : cluster::StopReason::kNone;
  votes[kRequested] = reason == cluster::StopReason::kRequested;
  votes[kTerminate] = reason == cluster::StopReason::kTerminate;
  votes[kInterrupt] = reason == cluster::StopReason::kInterrupt;
  if (!setting_.agreement.is_root()) return votes;  // of the clocks one decides
  const double limit = setting_.run.options.stop.after, every = setting_.run.resolved.checkpoint_every.seconds;
  votes[kTime] = limit > 0.0 && seconds_since(setting_.start) >= limit;
  votes[kSave] = every > 0.0 && seconds_since(last_save_) >= every;
  return votes;
}

void Trainer::count(const Votes& votes) {
  save_voted_ = votes[kSave] > 0;
  const config::StopOptions& stop = setting_.run.options.stop;
  if (is_last() || !stop_reason_.empty()) return;
  if (votes[kRequested] > 0) {
    stop_reason_ = fmt::format("signal {}", stop.signal);
  } else if (votes[kTerminate] > 0) {
    stop_reason_ = "signal TERM";
  } else if (votes[kInterrupt] > 0) {
    stop_reason_ = "signal INT";
  } else if (votes[kTime] > 0) {
    stop_reason_ = fmt::format("--stop-after {}", format_seconds(stop.after));
  }
  if (stop_reason_.empty()) return;
  // The scheduler will not wait longer; whoever is missing is to be named before it kills.
  comm::Communicator& world = *setting_.groups.world;
  const double watchdog = world.watchdog_seconds();
  if (stop.grace_seconds > 0.0 && (watchdog == 0.0 || stop.grace_seconds < watchdog))
    world.set_watchdog(stop.grace_seconds);
  if (log_ != nullptr) log_info(fmt::format("step {}: stopping after it ({})", step_, stop_reason_));
}

// A signal that came while the ranks evaluated or saved is honoured now and not a step later.
void Trainer::listen() {
  if (is_last() || !stop_reason_.empty()) return;
  const bool save_voted = save_voted_;
  Votes sums = votes();
  setting_.groups.world->all_reduce(stream_, {sums.data(), tensor::DType::kI64, {kVotes}, 0}, comm::Reduction::kSum);
  count(sums);
  save_voted_ = save_voted;
}

checkpoint::Description Trainer::description() const {
  const parallel::Layout& layout = setting_.groups.layout;
  checkpoint::Description description;
  description.progress = {.step = step_,
                          .update = update_,
                          .consumed_samples = consumed_samples_,
                          .skipped_in_a_row = skipped_in_a_row_,
                          .loss_scale = std::nullopt};
  if (scaler_) {
    const optim::LossScaler::State& state = scaler_->state();
    description.progress.loss_scale = state.scale;
    if (scaler_->is_dynamic()) description.progress.loss_scale_history = {state.finite_steps, state.overflows_left};
  }
  description.layout = {layout.tensor, layout.pipeline, layout.data};
  description.model_config = model::to_json(setting_.run.model, "float32");
  description.fingerprint = setting_.fingerprint;
  description.aliases = aliases_of(setting_.run.model);
  description.origin = setting_.origin;
  return description;
}

// One save a step: a stop that comes meanwhile finds it done.
void Trainer::save() {
  const trace::PhaseScope phase(&setting_.recorder, trace::Phase::kCheckpoint);
  const Path folder = setting_.directory.checkpoint(step_);
  const std::vector<checkpoint::LocalState> states = local_states(parameters_, optimizer_, setting_.groups);
  const Clock::time_point start = Clock::now();
  setting_.agreement.root([&] { ensure_directory(folder.parent_path()); });
  setting_.agreement.alike([&] { saver_.stage(folder, description(), states); });
  const Clock::time_point staged = Clock::now();
  saver_.write();
  faults_.delay_write(bytes_of(states), seconds_since(staged));
  checkpoint::SaveReport report;
  setting_.agreement.alike([&] { report = saver_.commit(); });
  report.stall_seconds = seconds_since(start);  // training waits for the files too
  last_save_ = Clock::now();
  if (log_ != nullptr) {
    log_->saved(step_, folder, report);
    remove_old_checkpoints();
  }
  listen();
}

// What cannot be removed costs space, not the run.
void Trainer::remove_old_checkpoints() {
  const config::OutputOptions& output = setting_.run.options.output;
  try {
    const Path checkpoints = setting_.directory.checkpoints();
    for (const std::int64_t step : checkpoint::steps_to_remove(checkpoint::committed_steps(checkpoints),
                                                               output.keep_last, output.keep_every, step_)) {
      checkpoint::remove_step(setting_.directory.checkpoint(step));
    }
  } catch (const std::exception& error) {
    log_warning(fmt::format("an old checkpoint could not be removed: {}", error.what()));
  }
}

}  // namespace convoy::train
