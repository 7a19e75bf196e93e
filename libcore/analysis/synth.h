// SPDX-License-Identifier: Apache-2.0
// Traces of runs that never were, whose faults are known: for tests, for docs, and for learning to read a report. A
// replay of the schedules of DP x TP x PP training (synth_replay.h): each rank's computations take their time with
// jitter, collectives and messages wait for who is late.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/trace/format.h"

namespace convoy::analysis {

// "slow:rank=3,factor=1.2,phase=forward[,steps=10-20]" or "sleep=20ms" in place of the factor.
struct SynthFault {
  int rank = 0;
  trace::Phase phase = trace::Phase::kForward;
  double factor = 1.0;
  double sleep_seconds = 0.0;
  std::int64_t first = 1, last = std::numeric_limits<std::int64_t>::max();
};
// Returns the problem as a clause, or an empty string.
std::string parse_synth_fault(std::string_view text, SynthFault& fault);

struct SynthOptions {
  int tensor = 1, pipeline = 1, data = 1;
  int layers = 2;  // a stage
  int micro_batches = 4;
  std::int64_t steps = 200;
  double step_seconds = 0.2;  // roughly, of a healthy step
  // Standard deviation of the logarithm of a computation's time. One draw a rank, step and phase: the micro-batches of
  // a step do not average it away.
  double jitter = 0.02;
  std::uint64_t seed = 1;
  int ranks_per_host = 8;
  std::int64_t evaluate_every = 50, checkpoint_every = 100;  // steps; 0: never
  std::vector<SynthFault> faults = {};
  std::int64_t window_first = 1, window_last = 4;  // steps whose events are kept
};

// Every reason why the options cannot be synthesized, in the words of convoy-profile synth's flags.
std::vector<std::string> problems_of(const SynthOptions& options);

// Writes `run`/traces and metrics.jsonl; the traces appear as a whole. ConfigError for what problems_of() finds,
// EnvironmentError if `run` has traces already. The same options give the same bytes.
void synthesize(const SynthOptions& options, const Path& run);

}  // namespace convoy::analysis
