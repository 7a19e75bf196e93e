// SPDX-License-Identifier: Apache-2.0
// What a training run can be told, as plain structs with the defaults that --help shows. Values that depend on others
// (the micro-batch, the number of steps) stay empty here and are settled by resolve().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convoy::trace {
struct Window;
}

namespace convoy::config {

struct ModelOptions {
  std::string model;                            // a preset's name, or a config.json
  std::string init_from;                        // a Hugging Face folder or a step directory: weights only
  std::optional<std::int64_t> sequence_length;  // T; default: the model's positions, at most 2048
  std::string tie_embeddings = "auto";          // auto, yes, no
  bool attention_reset_at_document = false;
  std::optional<double> dropout;  // default: the model's own rate
};

struct DataOptions {
  std::vector<std::string> data;        // PREFIX
  std::vector<double> weights;          // of each; empty: by its number of samples
  std::vector<std::string> valid_data;  // [NAME=]PREFIX
  std::string order = "shuffled";       // shuffled, sequential
  std::int64_t seed = 1;
  bool foreign = false;  // take pairs without a commit marker
  bool mask_loss_after_eos = false;
  std::optional<std::int64_t> eos_id;
};

struct BatchOptions {
  std::optional<std::int64_t> global_batch;  // sequences; default: kDefaultGlobalBatch
  std::string ramp;                          // "0:32,1B:64": sequences from so many tokens on; batch_ramp.h
  std::optional<std::int64_t> micro_batch;   // sequences; default: the largest divisor up to 8
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> tokens;  // B T of them a step
};

// Sequences a step where nothing is said.
constexpr std::int64_t kDefaultGlobalBatch = 32;

struct OptimizerOptions {
  double lr = 3e-4;
  std::optional<double> min_lr;     // at the end of the decay; default: lr / 10
  std::string schedule = "cosine";  // constant, linear, cosine, wsd
  std::int64_t warmup_steps = 0;
  std::optional<std::int64_t> decay_steps;  // default: the resolved number of steps
  double wsd_decay_share = 0.2;             // of them, the last, that wsd decays in
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double clip_norm = 1.0;
  std::int64_t max_skipped_steps = 20;
};

struct DeviceOptions {
  std::string precision = "bf16";      // fp32, bf16, fp16
  std::string loss_scale = "dynamic";  // of fp16: dynamic, or a number
  std::string device = "auto";         // auto, cpu, cuda
  std::optional<std::int64_t> threads;
  bool oversubscribe = false;
};

struct LayoutOptions {
  std::int64_t tensor_parallel = 1;       // ranks that share every matrix
  bool sequence_parallel = false;         // they share the rows of the residual stream too
  std::int64_t pipeline_parallel = 1;     // stages
  std::string schedule = "1f1b";          // gpipe, 1f1b, interleaved
  std::int64_t virtual_stages = 1;        // chunks of layers a stage, interleaved
  std::string pipeline_split;             // layers a stage or chunk, in model order: "5,6,6,5"; empty: near-equal
  std::string rank_order = "tp,pp,dp";    // from the innermost
  std::int64_t zero = 0;                  // 0 to 3
  std::int64_t bucket_mib = 32;           // gradients that are summed at a time
  std::string recompute = "none";         // none, selective, full
  bool overlap = true;                    // sum them while backward still runs
  std::string reduction = "bucket";       // bucket, tree: the latter's sums do not depend on the replicas
  std::int64_t check_replicas_every = 0;  // steps; 0: never
  bool tensor_across_nodes = false;       // allowed for tensor-parallel ranks
  std::string offload = "none";           // none, optimizer: its states to host memory
  std::optional<std::int64_t> expect_world;
};

struct ResumeOptions {
  std::string mode = "auto";  // auto, never, require
  std::string from;           // the full state of another run, into an empty directory
  std::vector<std::string> allow_change;
};

struct StopOptions {
  std::string signal = "USR2";      // beside TERM and INT
  double grace_seconds = 120.0;     // that the save of a stop may wait for a rank
  double after = 0.0;               // seconds; 0: never
  double watchdog_seconds = 600.0;  // that a rank waits for its peers; 0: for ever
};

struct ObservationOptions {
  std::string trace = "steps";  // off, steps, window
  std::string trace_window;     // steps whose events are all kept, "100-110"; makes "steps" a "window"
};

struct RehearsalOptions {
  std::vector<std::string> faults;  // fault.h
  bool log_samples = false;
};

// "100" or "1K": after every step that it divides; "10m" or "90s": when that long has passed since the last commit.
struct Cadence {
  std::int64_t steps = 0;
  double seconds = 0.0;
};

struct OutputOptions {
  std::string out;
  std::string checkpoint_every;   // a Cadence; empty: at the end alone
  std::int64_t keep_last = 0;     // checkpoints; 0: all
  std::int64_t keep_every = 0;    // steps that are kept whatever keep_last says; 0: none
  bool ignore_space = false;      // start even where the disk cannot hold the checkpoints
  std::int64_t eval_every = 0;    // steps; 0: at the end alone
  std::int64_t eval_steps = 100;  // global batches at most; 0: the whole set
  std::int64_t log_every = 0;     // steps; 0: by time
  bool tensorboard = true;
  std::optional<std::int64_t> dump_gradients;  // a step
  std::optional<double> peak_tflops;           // of the device, for MFU
};

struct RunOptions {
  ModelOptions model;
  DataOptions data;
  BatchOptions batch;
  OptimizerOptions optimizer;
  DeviceOptions device;
  LayoutOptions layout;
  OutputOptions output;
  ResumeOptions resume;
  StopOptions stop;
  ObservationOptions observation;
  RehearsalOptions rehearsal;
};

// Splits [NAME=]PREFIX; the name is the prefix's last component unless given.
std::pair<std::string, std::string> named_prefix(const std::string& text);

// The update at which the decay of wsd begins: the last `share` of the updates, to the nearest and at least one, decay.
std::int64_t wsd_decay_start(std::int64_t decay_steps, double share);

// Reads "dynamic", which leaves `fixed` empty, or a number above 0; returns the problem as a clause, or an empty
// string.
std::string parse_loss_scale(const std::string& text, std::optional<double>& fixed);

// Reads a Cadence; returns the problem as a clause, or an empty string.
std::string parse_cadence(const std::string& text, Cadence& cadence);

// Reads "5,6,6,5": numbers of layers, each at least 1; returns the problem as a clause, or an empty string.
std::string parse_split(const std::string& text, std::vector<std::int64_t>& split);

// Reads "100-110", or "100" for that step alone; returns the problem as a clause, or an empty string.
std::string parse_steps(const std::string& text, trace::Window& steps);

}  // namespace convoy::config
