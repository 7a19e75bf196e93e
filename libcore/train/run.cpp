// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/version.h"
#include "libcore/checkpoint/checkpoint.h"
#include "libcore/parallel/node_problems.h"
#include "libcore/train/agreement.h"
#include "libcore/train/fingerprint.h"
#include "libcore/train/job_settings.h"
#include "libcore/train/observation.h"
#include "libcore/train/resume.h"
#include "libcore/train/run_log.h"
#include "libcore/train/space.h"
#include "libcore/train/states.h"
#include "libcore/train/summary.h"
#include "libcore/train/trainer.h"

namespace convoy::train {
namespace {

// That rank 0 has to write down that the job fails, before another rank ends it.
constexpr std::chrono::seconds kTimeToRecord{2};

RunLogOptions log_options(const PreparedRun& run) {
  const config::OutputOptions& output = run.options.output;
  return {.steps = run.resolved.steps,
          .batches = run.resolved.batches,
          .sequence_length = run.resolved.sequence_length,
          .flops_per_token =
              model::training_flops_per_token(run.model, run.resolved.sequence_length) / run.resolved.layout.world(),
          .peak_tflops = output.peak_tflops,
          .log_every = output.log_every,
          .tensorboard = output.tensorboard};
}

std::string earlier_record(const RunDirectory& directory) {
  return std::filesystem::exists(directory.record()) ? read_file(directory.record(), "run record") : "";
}

std::string description_of(const Identity& identity) {
  return fmt::format("convoy {}, {}", version(), identity.description);
}

// One rank's part in a run, from the options to the end of the training.
class Session {
 public:
  Session(const config::RunOptions& options, const Rank& rank, const Invocation& invocation)
      : options_(options),
        rank_(rank),
        invocation_(invocation),
        agreement_(rank.world, rank.identity.host),
        directory_(options.output.out) {}

  ExitCode run();
  // Leaves the first `error` in the status and lets the other ranks know.
  void fail(const std::exception& error) noexcept;

 private:
  void expect_one_job();
  void decide();
  void open_checkpoint();
  void refuse_without_steps() const;
  void refuse_tensor_ranks_across_nodes() const;
  void prepare_place();
  void make_recorder();
  std::unique_ptr<Trainer> start_trainer(const parallel::Groups& groups);
  void go_back(const DataError& damage);
  void prepare_directory();
  ExitCode train();
  bool is_own_checkpoint() const;
  std::int64_t start_step() const;
  std::vector<std::int64_t> peak_memory_of_all() const;

  const config::RunOptions& options_;
  const Rank& rank_;
  const Invocation& invocation_;
  std::unique_ptr<trace::Recorder> recorder_;  // before whatever records
  Agreement agreement_;
  RunDirectory directory_;
  std::optional<PreparedRun> prepared_;
  Start start_;
  std::optional<checkpoint::Checkpoint> checkpoint_;
  Fingerprint fingerprint_;
  std::vector<std::string> nodes_;
  std::unique_ptr<RunLog> log_;  // of rank 0
  bool has_failed_ = false;
};

ExitCode Session::run() {
  rank_.world.set_watchdog(options_.stop.watchdog_seconds);
  agreement_.all([&] { prepared_.emplace(prepare(options_, rank_.machine)); });
  expect_one_job();
  nodes_ = gather_texts(rank_.world, rank_.identity.host);
  rank_.world.set_nodes(nodes_);
  agreement_.all([&] { refuse_tensor_ranks_across_nodes(); });
  decide();
  agreement_.all([&] { open_checkpoint(); });
  if (start_.kind == StartKind::kFinished) {
    if (agreement_.is_root())
      log_info(fmt::format("{} is finished: step {} of {} is in {}", directory_.path().string(), start_step(),
                           prepared_->resolved.steps, start_.checkpoint.string()));
    return ExitCode::kDone;
  }
  return train();
}

void Session::expect_one_job() {
  std::string mine;
  agreement_.all([&] { mine = job_settings(*prepared_, invocation_.resolved_config); });
  const std::string root = broadcast_text(rank_.world, mine, 0);
  agreement_.all([&] { expect_settings_of_root(root, mine); });
}

void Session::decide() {
  agreement_.root([&] {
    directory_.own(rank_.identity);
    start_ = decide_start(directory_, options_.resume, prepared_->resolved.steps);
    start_.attempt = attempts_in(earlier_record(directory_)) + 1;
  });
  start_ = start_of(broadcast_text(rank_.world, to_text(start_), 0));
}

void Session::open_checkpoint() {
  if (start_.kind != StartKind::kAnew) {
    checkpoint_.emplace(start_.checkpoint);
    const Fingerprint& stored = checkpoint_->manifest().description.fingerprint;
    adopt(stored, *prepared_);
    const std::vector<std::string> problems =
        fingerprint_problems(stored, fingerprint_of(*prepared_), options_.resume.allow_change);
    if (!problems.empty()) {
      throw ConfigError(fmt::format("{} is of a run with other settings, which this one cannot continue:\n  - {}",
                                    start_.checkpoint.string(), fmt::join(problems, "\n  - ")));
    }
    expect_model(*checkpoint_, prepared_->model);
    if (start_.kind == StartKind::kResume) refuse_without_steps();
  }
  fingerprint_ = fingerprint_of(*prepared_);
  if (checkpoint_) return;
  // A new run has nothing that could change, but a key that is none now would be refused when it goes on.
  const std::vector<std::string> problems = fingerprint_problems(fingerprint_, fingerprint_, options_.resume.allow_change);
  if (!problems.empty()) throw ConfigError(problems);
}

bool Session::is_own_checkpoint() const {
  return checkpoint_ && start_.checkpoint.parent_path() == directory_.checkpoints();
}

std::int64_t Session::start_step() const { return checkpoint_ ? checkpoint_->manifest().description.progress.step : 0; }

void Session::refuse_without_steps() const {
  const std::int64_t steps = prepared_->resolved.steps;
  if (start_step() < steps) return;
  throw ConfigError(fmt::format("{} is of step {}, which leaves nothing to train up to --steps {}: give at least {}",
                                start_.checkpoint.string(), start_step(), steps, start_step() + 1));
}

void Session::refuse_tensor_ranks_across_nodes() const {
  if (options_.layout.tensor_across_nodes) return;
  const std::string problem = parallel::tensor_across_nodes_problem(prepared_->resolved.layout, nodes_);
  if (!problem.empty()) throw ConfigError(problem);
}

void Session::prepare_place() {
  checkpoint::remove_leftovers(directory_.checkpoints());
  refuse_without_space(*prepared_, directory_, start_step());
  if (prepared_->resolved.writes_traces) make_traces_folder(directory_);
}

// The record first: it shows that the directory is a run's.
void Session::prepare_directory() {
  if (checkpoint_ && !options_.model.init_from.empty())
    log_info(fmt::format("--init-from {} is not read: the run goes on from {}", options_.model.init_from, start_.checkpoint.string()));
  const std::string record =
      run_record(*prepared_, rank_.identity, invocation_, nodes_, start_, earlier_record(directory_));
  write_file_atomically(directory_.record(), record + "\n");
  write_file_atomically(directory_.config(), invocation_.resolved_config);
  discard_rows(directory_, start_step());
  log_ = std::make_unique<RunLog>(directory_, rank_.identity, log_options(*prepared_));
  if (checkpoint_) {
    log_->resumed(start_step(), start_.checkpoint);
  } else {
    log_->started();
  }
  warn_about_unused(options_.optimizer);
}

void Session::make_recorder() {
  recorder_ = std::make_unique<trace::Recorder>(
      trace_header(*prepared_, directory_, rank_.identity, rank_.world.rank(), start_.attempt),
      recorder_options(prepared_->resolved, directory_));
  agreement_.set_lane({recorder_.get()});
}

// With the states of the newest checkpoint that is whole: only reading them shows whether it is.
std::unique_ptr<Trainer> Session::start_trainer(const parallel::Groups& groups) {
  std::unique_ptr<Trainer> trainer;
  const TrainerSetting setting{.run = *prepared_,
                               .directory = directory_,
                               .groups = groups,
                               .agreement = agreement_,
                               .recorder = *recorder_,
                               .fingerprint = fingerprint_,
                               .origin = description_of(rank_.identity),
                               .start = rank_.start,
                               .stop_requested = rank_.stop_requested};
  while (true) {
    try {
      agreement_.all([&] { trainer = std::make_unique<Trainer>(setting, checkpoint_ ? &*checkpoint_ : nullptr); });
      return trainer;
    } catch (const DataError& damage) {
      trainer.reset();
      if (!is_own_checkpoint()) throw;
      go_back(damage);
    }
  }
}

void Session::go_back(const DataError& damage) {
  agreement_.forget();
  agreement_.root([&] { start_.checkpoint = checkpoint_before(directory_, start_.checkpoint, damage.what()); });
  start_ = start_of(broadcast_text(rank_.world, to_text(start_), 0));
  agreement_.all([&] { open_checkpoint(); });
  agreement_.root([&] { refuse_without_space(*prepared_, directory_, start_step()); });
}

ExitCode Session::train() {
  agreement_.root([&] { prepare_place(); });
  const parallel::Groups groups = parallel::make_groups(rank_.world, prepared_->resolved.layout);
  agreement_.all([&] { make_recorder(); });
  // Which step is gone on from, the record says, is only known once it has been read.
  const bool may_go_back = is_own_checkpoint();
  if (!may_go_back) agreement_.root([&] { prepare_directory(); });
  const std::unique_ptr<Trainer> trainer = start_trainer(groups);
  if (may_go_back) agreement_.root([&] { prepare_directory(); });
  checkpoint_.reset();
  if (agreement_.is_root()) log_summary(*prepared_, nodes_, trainer->memory_summary());
  std::string reason;
  try {
    reason = trainer->train(log_.get());
  } catch (const std::exception& error) {
    fail(error);  // before the trainer goes, whose threads may wait for the other ranks in a collective
    throw;
  }
  const std::vector<std::int64_t> peaks = peak_memory_of_all();
  if (agreement_.is_root()) log_->memory(peaks, nodes_);
  // No rank leaves before the end is on record.
  agreement_.root([&] { reason.empty() ? log_->finished() : log_->stopped(reason); });
  return reason.empty() ? ExitCode::kDone : ExitCode::kRequeue;
}

std::vector<std::int64_t> Session::peak_memory_of_all() const {
  std::vector<std::int64_t> peaks;
  for (const std::string& bytes : gather_texts(rank_.world, std::to_string(peak_memory_bytes())))
    peaks.push_back(std::stoll(bytes));
  return peaks;
}

void Session::fail(const std::exception& error) noexcept {
  if (std::exchange(has_failed_, true)) return;
  const int code = static_cast<int>(exit_code_of(error));
  const comm::Communicator& world = rank_.world;
  if (log_) log_->failed(error.what(), code);
  if (world.size() == 1) return;
  if (agreement_.is_shared()) {
    if (agreement_.is_root()) log_error(error.what());
    return;
  }
  log_error(fmt::format("rank {} on {}: {}", world.rank(), rank_.identity.host, error.what()));
  if (!agreement_.is_root()) {
    std::this_thread::sleep_for(kTimeToRecord);
    std::error_code ignored;
    if (std::filesystem::exists(directory_.status(), ignored)) record_failure(directory_.status(), error.what(), code);
  }
  rank_.world.end_job(code);
}

}  // namespace

ExitCode run(const config::RunOptions& options, const Rank& rank, const Invocation& invocation) {
  Session session(options, rank, invocation);
  try {
    return session.run();
  } catch (const std::exception& error) {
    session.fail(error);
    throw;
  }
}

}  // namespace convoy::train
