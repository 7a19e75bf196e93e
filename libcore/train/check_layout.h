// SPDX-License-Identifier: Apache-2.0
// Trains a small run (cut_down.h) on thread ranks in a layout and on one rank, on the same made-up tokens, with the
// trainer's own step, and compares what both did at every point of a step.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "libcore/config/run_options.h"
#include "libcore/optim/lr_schedule.h"
#include "libcore/parallel/partial_sums.h"
#include "libcore/train/cut_down.h"
#include "libcore/train/layout_comparison.h"

namespace convoy::train {

// The run that the options describe, cut down: on --expect-world ranks, else on tensor x pipeline ranks and as many
// again if the batch divides into two replicas. Only model, layout and batch are looked at. ConfigError with all that
// is wrong with them.
SmallRun small_run(const config::RunOptions& options);

struct CheckSettings {
  int steps = 3;
  std::uint64_t seed = 1;
  std::size_t bucket_bytes = 4096;  // so that there are several
  bool overlap = true;
  bool tree = false;  // --reduction tree
  double watchdog_seconds = 60.0;
  // Of the layout's ranks; one rank always computes in fp32.
  tensor::DType precision = tensor::DType::kF32;
  bool documents = false;  // attention stays inside documents, several of which a sample has
  optim::LrSchedule schedule = {.kind = optim::ScheduleKind::kConstant, .peak = 1e-2};
  Tolerances early = {}, late = {};
  int early_steps = 3;
  // What a test breaks on the layout's ranks. The groups: before anything is allocated.
  std::function<void(parallel::Groups&)> interfere = {};
  std::function<std::vector<parallel::PartialGradient>(const model::Parameters&)> partial_gradients = {};
  std::function<double(int update)> rate = {};  // of update 1, 2, ..
};

// Trains on one rank, on the layout's global batches in micro-batches of `micro_batch` samples. The result serves every
// layout and micro-batch size (a multiple of that) of the same model, length, global batch and settings.
Reference train_on_one_rank(const SmallRun& run, std::int64_t micro_batch, const CheckSettings& settings);

// Takes as many threads as the layout has ranks. Throws what a rank throws.
LayoutReport check_layout(const SmallRun& run, const CheckSettings& settings = {});
LayoutReport check_layout(const SmallRun& run, const CheckSettings& settings, const Reference& reference);

}  // namespace convoy::train
