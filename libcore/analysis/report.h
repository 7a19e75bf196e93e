// SPDX-License-Identifier: Apache-2.0
// What convoy-profile report finds in a run, as data; report_writers.h shows it. Every number is defined in
// docs/profile.md. An absent optional was not measured.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/analysis/trace_set.h"

namespace convoy::analysis {

struct Quantiles {
  double p50 = 0.0, p95 = 0.0, p99 = 0.0, max = 0.0;  // seconds
};

// Of a phase over the ranks and the steps that count (warm-up left out).
struct PhaseShare {
  trace::Phase phase = trace::Phase::kOther;
  double mean_seconds = 0.0;  // a step and rank, wall time without run-delay
  double share = 0.0;  // of the mean duration of a step with all that is in it; shares and starved_share sum to 1
};

// Communication that training waits for, of one kind of group. Seconds a step and rank.
struct Exposed {
  trace::GroupKind group = trace::GroupKind::kTensor;
  double seconds = 0.0;
  double share = 0.0;                           // of the training step
  std::optional<double> waiting, transferring;  // seconds; from events: absent where none were kept
};

enum class Cause { kCompute, kData, kHost, kLink, kCheckpoint, kUnknown };
const char* name_of(Cause cause);  // "compute", ..

struct Straggler {
  int rank = 0;
  std::string host;
  trace::Coordinates at;
  Cause cause = Cause::kUnknown;
  trace::Phase phase = trace::Phase::kOther;
  // Own work of the phase beyond its peers' median: the median of the affected steps. Without peers: the median of the
  // affected steps over that of the steps beside them, less what the other ranks' did in the same steps.
  double excess_percent = 0.0;
  std::int64_t steps_affected = 0;
  std::int64_t first_step = 0, last_step = 0;  // of those
  double step_excess_percent = 0.0;            // the same time as a share of the training step
  double lost_percent = 0.0;                   // of the whole run's training time
  bool against_itself = false;                 // it has no peers: compared with its own other steps
};

// Rank x step, downsampled: how much longer a rank's own work took than its peers' (0.1: 10 %), the largest of each
// cell.
struct HeatMap {
  std::int64_t first_step = 0, last_step = -1;  // the last column may reach beyond
  std::int64_t steps_per_column = 1;
  int ranks_per_row = 1;
  int rows = 0, columns = 0;
  std::vector<float> cells;  // rows x columns, NaN where there is no record
};

// A series over steps, thinned to what a picture can show.
struct Curve {
  std::vector<std::int64_t> steps;
  std::vector<double> values;
};

// Of one rank, for the page's table.
struct RankRow {
  int rank = 0;
  std::string host;
  trace::Coordinates at;
  std::int64_t steps = 0;
  double own_seconds = 0.0;            // median of a training step's own work (data to optimizer)
  std::optional<double> excess;        // of it, against its peers' median: 0.1 is 10 % more
  double communication_seconds = 0.0;  // mean a step
  double starved_share = 0.0;          // run-delay of the step
};

struct Report {
  std::string run;                               // its folder, as given
  std::string started;                           // of the last attempt: "2026-11-30 14:02:11 UTC"
  int ranks = 0;                                 // of the world, of the newest segment
  int ranks_read = 0;                            // whose traces could be used
  trace::Header header;                          // of the newest segment
  std::int64_t steps = 0;                        // that any rank recorded
  StepRange recorded = {.first = 1, .last = 0};  // whatever was asked for; none: last < first
  std::int64_t warm_up_steps = 0;                // left out of the statistics
  std::int64_t attempts = 1;
  std::optional<Quantiles> step_seconds;                // of training steps: without evaluation and checkpoints
  std::optional<double> tokens_per_second;              // at the median step
  std::optional<double> mfu;                            // of the peak below
  std::optional<double> peak_tflops;                    // a rank
  std::vector<PhaseShare> phases;                       // in the order of the enum
  double starved_share = 0.0;                           // run-delay
  std::vector<Exposed> exposed;                         // kinds of groups that the layout has, each once
  std::optional<double> bubble_measured, bubble_ideal;  // with more than one stage
  std::vector<Straggler> stragglers;                    // the most costly first
  bool judged = false;                 // that nobody is named means that nobody is slow; else it could not be told
  std::vector<std::string> abstained;  // why nobody could be named where somebody might be, one sentence each
  std::vector<std::string> incomplete;
  std::string verdict;  // one sentence
  HeatMap heat_map;
  std::vector<RankRow> rank_rows;
  Curve loss, learning_rate, throughput;  // the first two from RUN/metrics.jsonl, empty without it
};

struct ReportOptions {
  StepRange range;
  std::optional<double> peak_tflops;
};

// Reads the run and analyses it. DataError where no trace can be read.
Report make_report(const Path& run, const ReportOptions& options);

}  // namespace convoy::analysis
