// SPDX-License-Identifier: Apache-2.0
// Everything that can be known to be wrong before anything is allocated, all at once; and the values that a sound
// configuration leaves open. Pure: files and the machine come in as facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/config/batch_ramp.h"
#include "libcore/config/fault.h"
#include "libcore/config/run_options.h"
#include "libcore/parallel/mesh.h"
#include "libcore/trace/recorder.h"

namespace convoy::config {

// The sequence length where none is given: the model's positions, at most this many tokens.
constexpr std::int64_t kLongestDefaultSequence = 2048;

// What validation needs to know of the model.
struct ModelFacts {
  std::string name;
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;
  double dropout = 0.0;  // the largest rate that is in force
  std::optional<std::int32_t> eos_id;
  std::int64_t layers = 0, heads = 0, key_value_heads = 0, ffn_width = 0;
};

// What it needs to know of one data set.
struct DataFacts {
  std::string name;  // of a validation set; empty: the training data
  std::string prefix;
  std::int64_t tokens = 0;
  std::optional<std::int64_t> vocabulary;  // of the tokenizer that made it
  std::optional<std::int64_t> largest_id;  // where it was looked for
  std::optional<std::int32_t> eos_id;
  std::string tokenizer = {};  // SHA-256 of the model that made it; empty: not known
};

struct MachineFacts {
  int cores = 1;                            // that this process may use
  int default_threads = 1;                  // where nobody asks for a number
  std::optional<std::int64_t> omp_threads;  // OMP_NUM_THREADS, where set
  int world = 1;                            // ranks of the job
  int ranks_sharing = 1;                    // of them, those that share this process's cores, itself included
  bool has_cuda = false;
};

struct Facts {
  std::optional<ModelFacts> model;  // empty: it could not be read, which has been reported
  std::vector<DataFacts> train;
  std::vector<DataFacts> valid;
  MachineFacts machine;
};

// Problems by exit code: usage is 2, data is 3.
struct Problems {
  std::vector<std::string> usage;
  std::vector<std::string> data;
  bool empty() const { return usage.empty() && data.empty(); }
};

void validate(const RunOptions& options, const Facts& facts, Problems& problems);
// What it says of the layout alone: of ranks, heads, layers and batches.
void validate_layout(const RunOptions& options, const Facts& facts, std::vector<std::string>& problems);

// Throws all of them: a ConfigError if any is usage, else a DataError; returns if there are none.
void throw_if_any(const Problems& problems);

// A run with nothing left open.
struct Resolved {
  std::int64_t sequence_length = 0;  // T
  GlobalBatches batches;             // of every step
  std::int64_t global_batch = 0;     // sequences a step, the largest of a ramp
  std::int64_t micro_batch = 0;      // B
  std::int64_t micro_batches = 0;    // a step and replica, at most
  std::int64_t steps = 0;
  std::int64_t decay_steps = 0;
  double min_lr = 0.0;
  int threads = 1;
  std::optional<double> loss_scale;    // of fp16, where it is fixed
  Cadence checkpoint_every;            // both 0: at the end alone
  std::optional<std::int32_t> eos_id;  // where the loss is masked after it
  parallel::Layout layout;
  std::vector<Fault> faults;
  bool writes_traces = true;
  trace::Window trace_window;  // empty unless events are asked for
};

// Requires that validate() found nothing.
Resolved resolve(const RunOptions& options, const Facts& facts);

}  // namespace convoy::config
