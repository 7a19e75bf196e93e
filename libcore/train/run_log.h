// SPDX-License-Identifier: Apache-2.0
// Everything a run writes down while it trains: metrics, events, status, TensorBoard, and the console. Nothing of it
// feeds back into training.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "libcore/base/file.h"
#include "libcore/checkpoint/save.h"
#include "libcore/config/batch_ramp.h"
#include "libcore/data/blend.h"
#include "libcore/train/console.h"
#include "libcore/train/metrics.h"
#include "libcore/train/run_directory.h"
#include "libcore/train/tensorboard.h"

namespace convoy::train {

struct RunLogOptions {
  std::int64_t steps = 0;
  config::GlobalBatches batches = {};
  std::int64_t sequence_length = 0;  // T: tokens a sample, counted or not
  double flops_per_token = 0.0;
  std::optional<double> peak_tflops;  // of the device
  std::int64_t log_every = 0;         // steps; 0: by time
  bool tensorboard = true;
};

std::int64_t peak_memory_bytes();  // the largest resident set of this process so far

class RunLog {
 public:
  RunLog(const RunDirectory& directory, const Identity& identity, const RunLogOptions& options);

  void started();
  // Instead of started(), where training goes on after `step` from `checkpoint`.
  void resumed(std::int64_t step, const Path& checkpoint);
  void step(const StepMetrics& metrics, double seconds);
  void skipped(std::int64_t step, const std::string& reason);
  void evaluated(const EvalMetrics& metrics, double seconds);
  // The starts of the windows that a step trained on, in the order of their slots.
  void samples(std::int64_t step, std::span<const data::BlendedSampler::Window> windows);
  void saved(std::int64_t step, const Path& checkpoint, const checkpoint::SaveReport& report);
  // The peak_memory_bytes() of every rank, and its node.
  void memory(std::span<const std::int64_t> peak_bytes, std::span<const std::string> nodes);
  void finished();
  void stopped(const std::string& reason);  // early, with a committed checkpoint
  // Never throws: it is called while another error is on its way.
  void failed(const std::string& reason, int exit_code) noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  Timing timing_of(const StepMetrics& metrics, double seconds) const;
  double eta_seconds(const StepMetrics& metrics) const;
  void write_status();
  void ended(RunState state, const std::string& reason, int exit_code);
  void draw(const StepMetrics& metrics, const Timing& timing);

  const RunDirectory& directory_;
  RunLogOptions options_;
  LineAppender metrics_;
  LineAppender events_;
  std::unique_ptr<TensorBoardWriter> tensorboard_;
  LinePacer pacer_;
  Status status_;
  double smoothed_sample_seconds_ = 0.0;
  std::int64_t steps_seen_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_status_ = Clock::now();
};

}  // namespace convoy::train
