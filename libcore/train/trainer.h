// SPDX-License-Identifier: Apache-2.0
// The training loop of one rank.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "libcore/device/stream.h"
#include "libcore/model/model.h"
#include "libcore/optim/adamw.h"
#include "libcore/optim/lr_schedule.h"
#include "libcore/train/evaluate.h"
#include "libcore/train/loader.h"
#include "libcore/train/prepare.h"
#include "libcore/train/run_directory.h"
#include "libcore/train/run_log.h"
#include "libcore/train/step.h"

namespace convoy::train {

class Trainer {
 public:
  // Allocates everything that training needs. `run`, `directory` and `log` must outlive it.
  Trainer(const PreparedRun& run, const RunDirectory& directory, RunLog& log);

  // Trains to the last step. NumericsError after too many non-finite steps in a row.
  void train();

  // Bytes that the parts of a run hold, for the summary at the start.
  std::string memory_summary() const;

 private:
  StepMetrics train_step();
  void evaluate_all();
  void save();
  void skip(StepResult& result);
  void stop_without_progress() const;
  bool is_last() const { return step_ == run_.resolved.steps; }
  bool evaluation_is_due() const;
  bool save_is_due() const;
  StepContext context() { return {stream_, parameters_, model_, optimizer_}; }

  const PreparedRun& run_;
  const RunDirectory& directory_;
  RunLog& log_;

  device::Stream stream_;
  model::Parameters parameters_;
  optim::AdamW optimizer_;
  model::Model model_;
  optim::LrSchedule schedule_;
  SampleRules rules_;
  data::Sampler sampler_;
  GlobalBatch batch_;
  std::vector<EvaluationSet> evaluation_sets_;
  MicroBatch evaluation_batch_;

  std::int64_t step_ = 0;    // attempted global batches
  std::int64_t update_ = 0;  // successful ones
  std::int64_t skipped_in_a_row_ = 0;
  std::int64_t consumed_samples_ = 0;
  std::chrono::steady_clock::time_point last_save_;
};

}  // namespace convoy::train
