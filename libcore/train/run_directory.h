// SPDX-License-Identifier: Apache-2.0
// A run's directory: who owns it, what lies where, and the state that scripts read. One process at a time holds its
// lock.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "libcore/base/file.h"

namespace convoy::train {

// Who runs here: for the lock, the records and the name of the event file.
struct Identity {
  std::string host;
  std::int64_t pid = 0;
  std::string job_id;       // empty outside a batch system
  std::string description;  // for a message: "job 17, process 4242 on n01"
};

enum class RunState { kRunning, kFinished, kStopped, kFailed };
std::string_view name_of(RunState state);  // "running", "finished", "stopped", "failed"

// status.json.
struct Status {
  RunState state = RunState::kRunning;
  std::int64_t step = 0;
  std::int64_t steps = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();  // of the last step; not finite: null
  std::optional<double> eta_seconds;
  std::string last_checkpoint;   // empty: none yet
  std::string reason;            // why it stopped or failed
  std::optional<int> exit_code;  // once it has ended
};
std::string status_json(const Status& status);

// Says in `path` that the run has failed, keeping what else is known there; for a rank that fails where the one that
// writes the status cannot. Never throws.
void record_failure(const Path& path, const std::string& reason, int exit_code) noexcept;

// The sha256 of the tokenizer that the training data was encoded with, as run.json beside the step directory
// `checkpoint` has it; empty where there is none (a Hugging Face folder, data of other tools).
std::optional<std::string> recorded_tokenizer(const Path& checkpoint);

class RunDirectory {
 public:
  // Names alone.
  explicit RunDirectory(Path path) : path_(std::move(path)) {}
  // Creates `path` if missing and takes its lock. EnvironmentError if it cannot be written or if another process holds
  // the lock (naming it).
  RunDirectory(Path path, const Identity& identity);
  void own(const Identity& identity);

  // A file that shows that a run has written here; empty where none has. Job logs and the lock may lie in a fresh one.
  std::string occupied() const;
  void refuse_occupied() const;  // EnvironmentError if a run's files lie here

  const Path& path() const { return path_; }
  Path metrics() const { return path_ / "metrics.jsonl"; }
  Path events() const { return path_ / "events.jsonl"; }
  Path status() const { return path_ / "status.json"; }
  Path config() const { return path_ / "config.toml"; }
  Path record() const { return path_ / "run.json"; }
  Path checkpoints() const;
  Path debug() const { return path_ / "debug"; }
  Path discarded() const { return path_ / "metrics.discarded.jsonl"; }
  Path traces() const { return path_ / "traces"; }
  Path tensorboard() const { return path_ / "tensorboard"; }
  Path checkpoint(std::int64_t step) const;
  Path gradients(std::int64_t step) const;

 private:
  Path path_;
  std::unique_ptr<FileLock> lock_;
};

}  // namespace convoy::train
