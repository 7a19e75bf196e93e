// SPDX-License-Identifier: Apache-2.0
// The training loop of one rank; all ranks run it side by side.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/checkpoint/checkpoint.h"
#include "libcore/checkpoint/save.h"
#include "libcore/cluster/signals.h"
#include "libcore/device/stream.h"
#include "libcore/model/model.h"
#include "libcore/optim/adamw.h"
#include "libcore/optim/loss_scaler.h"
#include "libcore/optim/lr_schedule.h"
#include "libcore/parallel/data_parallel.h"
#include "libcore/parallel/groups.h"
#include "libcore/train/agreement.h"
#include "libcore/train/evaluate.h"
#include "libcore/train/faults.h"
#include "libcore/train/fingerprint.h"
#include "libcore/train/loader.h"
#include "libcore/train/prepare.h"
#include "libcore/train/replicas.h"
#include "libcore/train/run_directory.h"
#include "libcore/train/run_log.h"
#include "libcore/train/step.h"

namespace convoy::train {

// What a trainer works with; all of it outlives the trainer.
struct TrainerSetting {
  const PreparedRun& run;
  const RunDirectory& directory;  // names
  const parallel::Groups& groups;
  Agreement& agreement;
  trace::Recorder& recorder;
  Fingerprint fingerprint;
  std::string origin;                                        // who writes the checkpoints, for people
  std::chrono::steady_clock::time_point start;               // of the program, for --stop-after
  std::function<cluster::StopReason()> stop_requested = {};  // of this process
};

class Trainer {
 public:
  // Allocates everything that training needs and fills the weights: with their initial values, from --init-from, or,
  // with the rest of the state, from `checkpoint` if there is one. Not collective.
  Trainer(TrainerSetting setting, const checkpoint::Checkpoint* checkpoint);

  // Collective. Trains to the last step, or until any rank is asked to stop; then a checkpoint of that step is
  // committed and the reason is returned, which is empty where the run came to its end. `log`: of rank 0, null on the
  // others. NumericsError after too many non-finite steps in a row.
  std::string train(RunLog* log);

  // Bytes that the parts of a run hold on this rank, for the summary at the start.
  std::string memory_summary() const;

 private:
  enum Vote { kRequested, kTerminate, kInterrupt, kTime, kSave, kVotes };
  using Votes = std::array<std::int64_t, kVotes>;

  void restore(const checkpoint::Checkpoint& checkpoint);
  void one_step();
  StepMetrics train_step();
  void load_batch();
  void prefetch_batch() const;
  void plan_micro_batches(std::int64_t global_batch);
  void log_samples();
  void skip(StepResult& result);
  void stop_without_progress() const;
  void evaluate_all();
  void check_replicas();
  void save();
  void remove_old_checkpoints();
  Votes votes() const;
  void count(const Votes& votes);  // after they were summed over the ranks
  void listen();                   // for a stop, outside of a step
  checkpoint::Description description() const;
  bool is_last() const { return step_ >= setting_.run.resolved.steps; }
  bool evaluation_is_due() const;
  bool save_is_due() const;
  bool replica_check_is_due() const;
  StepContext context() {
    return {stream_,
            setting_.groups,
            actions_,
            parameters_,
            model_,
            partial_sums_,
            data_parallel_,
            optimizer_,
            faults_,
            nullptr,
            scaler_ ? scaler_->scale() : 1.0,
            tree_.get(),
            layer_shards_.get()};
  }

  TrainerSetting setting_;
  RunLog* log_ = nullptr;

  device::Stream stream_;
  std::vector<parallel::Action> actions_;
  std::vector<model::Shard> chunks_;
  model::Parameters parameters_;
  std::unique_ptr<parallel::GradientTree> tree_;  // of --reduction tree
  parallel::DataParallel data_parallel_;
  parallel::PartialSums partial_sums_;
  optim::AdamW optimizer_;
  model::Model model_;
  std::unique_ptr<parallel::LayerShards> layer_shards_;  // of ZeRO 2 and 3
  optim::LrSchedule schedule_;
  std::optional<optim::LossScaler> scaler_;  // of fp16
  SampleRules rules_;
  GlobalBatch batch_;
  std::vector<EvaluationSet> evaluation_sets_;
  MicroBatch evaluation_batch_;
  checkpoint::Saver saver_;
  Faults faults_;
  std::optional<Replicas> replicas_;  // of --check-replicas-every

  std::int64_t step_ = 0;    // attempted global batches
  std::int64_t update_ = 0;  // successful ones
  std::int64_t skipped_in_a_row_ = 0;
  std::int64_t first_skipped_sample_ = 0;  // of those
  std::int64_t consumed_samples_ = 0;
  std::int64_t samples_ = 0;  // of the step at hand, over all replicas
  std::chrono::steady_clock::time_point last_save_;
  std::string stop_reason_;  // empty: go on
  bool save_voted_ = false;
};

}  // namespace convoy::train
