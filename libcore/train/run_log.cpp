// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/run_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "libcore/base/clock.h"
#include "libcore/base/exit_code.h"
#include "libcore/base/json.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"

namespace convoy::train {
namespace {

constexpr double kTerminalLineSeconds = 1.0;
constexpr double kLogLineSeconds = 5.0;
constexpr double kStatusSeconds = 1.0;  // replacing a file costs an fsync
constexpr double kSmoothing = 0.1;      // of the time a sample takes, for the ETA

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

JsonObject event(std::string_view kind) {
  JsonObject row;
  row.add("kind", kind);
  return row;
}

}  // namespace

std::int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

RunLog::RunLog(const RunDirectory& directory, const Identity& identity, const RunLogOptions& options)
    : directory_(directory),
      options_(options),
      metrics_(directory.metrics()),
      events_(directory.events()),
      pacer_(options.log_every, isatty(STDERR_FILENO) != 0 ? kTerminalLineSeconds : kLogLineSeconds) {
  if (options.tensorboard) {
    tensorboard_ = std::make_unique<TensorBoardWriter>(directory.tensorboard(), identity.host, identity.pid);
  }
  status_.steps = options.steps;
}

void RunLog::started() {
  events_.append(event("start").add("time", unix_seconds()).add("steps", options_.steps).text());
  write_status();
}

void RunLog::resumed(std::int64_t step, const Path& checkpoint) {
  status_.step = step;
  status_.last_checkpoint = checkpoint.lexically_proximate(directory_.path()).string();
  events_.append(event("resume")
                     .add("time", unix_seconds())
                     .add("step", step)
                     .add("steps", options_.steps)
                     .add("checkpoint", checkpoint.string())
                     .text());
  write_status();
  log_info(fmt::format("resume  step {} of {}, from {}", step, options_.steps, checkpoint.string()));
}

Timing RunLog::timing_of(const StepMetrics& metrics, double seconds) const {
  Timing timing;
  timing.step = metrics.step;
  timing.step_seconds = seconds;
  timing.tokens_per_second = static_cast<double>(metrics.samples * options_.sequence_length) / seconds;
  timing.tflops_per_device = timing.tokens_per_second * options_.flops_per_token / 1e12;
  if (options_.peak_tflops) timing.mfu = timing.tflops_per_device / *options_.peak_tflops;
  timing.memory_bytes = peak_memory_bytes();
  return timing;
}

double RunLog::eta_seconds(const StepMetrics& metrics) const {
  const std::int64_t end = options_.batches.advance(metrics.consumed_samples, options_.steps - metrics.step);
  return smoothed_sample_seconds_ * static_cast<double>(end - metrics.consumed_samples);
}

void RunLog::step(const StepMetrics& metrics, double seconds) {
  const Timing timing = timing_of(metrics, seconds);
  metrics_.append(metrics_row(metrics));
  events_.append(event_row(timing));
  if (tensorboard_) {
    tensorboard_->add(metrics.step,
                      std::array<Scalar, 4>{Scalar{"train/loss", metrics.loss}, Scalar{"train/lr", metrics.lr},
                                            Scalar{"train/grad_norm", metrics.grad_norm},
                                            Scalar{"train/tokens_per_second", timing.tokens_per_second}});
    if (metrics.loss_scale)
      tensorboard_->add(metrics.step, std::array<Scalar, 1>{Scalar{"train/loss_scale", *metrics.loss_scale}});
  }
  // The first step pays for what is set up on the way; it would spoil the estimate.
  const double now = seconds / static_cast<double>(metrics.samples);
  smoothed_sample_seconds_ =
      ++steps_seen_ <= 2 ? now : (1.0 - kSmoothing) * smoothed_sample_seconds_ + kSmoothing * now;
  status_.step = metrics.step;
  status_.loss = metrics.loss;
  status_.eta_seconds = eta_seconds(metrics);
  if (seconds_since(last_status_) >= kStatusSeconds) write_status();
  draw(metrics, timing);
}

void RunLog::draw(const StepMetrics& metrics, const Timing& timing) {
  if (!pacer_.due(metrics.step, options_.steps)) return;
  const bool last = metrics.step == options_.steps;
  log_info(step_line(metrics, timing, options_.steps, last ? std::nullopt : status_.eta_seconds));
}

void RunLog::skipped(std::int64_t step, const std::string& reason) {
  events_.append(event("skip").add("step", step).add("reason", reason).text());
  log_warning(fmt::format("step {} skipped: {}", step, reason));
}

void RunLog::evaluated(const EvalMetrics& metrics, double seconds) {
  metrics_.append(metrics_row(metrics));
  events_.append(event("eval").add("step", metrics.step).add("set", metrics.set).add("seconds", seconds).text());
  if (tensorboard_)
    tensorboard_->add(metrics.step, std::array<Scalar, 1>{Scalar{"eval/" + metrics.set + "/loss", metrics.loss}});
  log_info(eval_line(metrics, options_.steps, seconds));
}

void RunLog::samples(std::int64_t step, std::span<const data::BlendedSampler::Window> windows) {
  const auto all = [&windows](auto part) {
    return fmt::format("[{}]", fmt::join(std::views::transform(windows, part), ","));
  };
  events_.append(event("samples")
                     .add("step", step)
                     .add_raw("sets", all(&data::BlendedSampler::Window::set))
                     .add_raw("first_tokens", all(&data::BlendedSampler::Window::first_token))
                     .text());
}

void RunLog::saved(std::int64_t step, const Path& checkpoint, const checkpoint::SaveReport& report) {
  status_.last_checkpoint = checkpoint.lexically_relative(directory_.path()).string();
  events_.append(event("checkpoint")
                     .add("time", unix_seconds())
                     .add("step", step)
                     .add("path", status_.last_checkpoint)
                     .add("digest", report.digest)
                     .add("bytes", static_cast<std::int64_t>(report.bytes))
                     .add("stall_seconds", report.stall_seconds)
                     .add("write_seconds", report.write_seconds)
                     .text());
  write_status();
  log_info(fmt::format("step {}: checkpoint {}, {} in {}", step, checkpoint.string(),
                       format_bytes(static_cast<double>(report.bytes)), format_seconds(report.stall_seconds)));
}

void RunLog::memory(std::span<const std::int64_t> peak_bytes, std::span<const std::string> nodes) {
  events_.append(event("memory").add_raw("peak_bytes", fmt::format("[{}]", fmt::join(peak_bytes, ","))).text());
  const auto text = [&](std::size_t rank) {
    const std::string place = peak_bytes.size() == 1 ? "" : fmt::format(" on rank {} ({})", rank, nodes[rank]);
    return format_bytes(static_cast<double>(peak_bytes[rank])) + place;
  };
  const auto [least, most] = std::ranges::minmax_element(peak_bytes);
  const auto rank_of = [&](auto rank) { return static_cast<std::size_t>(rank - peak_bytes.begin()); };
  log_info(fmt::format("memory  peak {}{}", text(rank_of(most)),
                       peak_bytes.size() == 1 ? "" : ", least " + text(rank_of(least))));
}

void RunLog::finished() {
  status_.eta_seconds = 0.0;
  ended(RunState::kFinished, "", static_cast<int>(ExitCode::kDone));
}

void RunLog::stopped(const std::string& reason) {
  ended(RunState::kStopped, reason, static_cast<int>(ExitCode::kRequeue));
}

void RunLog::failed(const std::string& reason, int exit_code) noexcept {
  try {
    status_.eta_seconds.reset();
    ended(RunState::kFailed, reason, exit_code);
  } catch (const std::exception& error) {
    log_warning(fmt::format("the failure could not be recorded in {}: {}", directory_.status().string(), error.what()));
  }
}

// The status first: scripts read it, and the event may be what the file system refuses.
void RunLog::ended(RunState state, const std::string& reason, int exit_code) {
  status_.state = state;
  status_.reason = reason;
  status_.exit_code = exit_code;
  write_status();
  events_.append(event("stop")
                     .add("time", unix_seconds())
                     .add("state", name_of(state))
                     .add("step", status_.step)
                     .add("seconds", seconds_since(start_))
                     .add("reason", reason)
                     .add("exit_code", exit_code)
                     .text());
}

void RunLog::write_status() {
  write_file_atomically(directory_.status(), status_json(status_) + "\n");
  last_status_ = Clock::now();
}

}  // namespace convoy::train
