// SPDX-License-Identifier: Apache-2.0
// Where the time goes: the phase table, communication that training waits for, the pipeline's bubble, step times and
// rates. Pure; over the steps that count.
#pragma once

#include <optional>
#include <vector>

#include "libcore/analysis/layout_steps.h"
#include "libcore/analysis/report.h"

namespace convoy::analysis {

struct PhaseTable {
  std::vector<PhaseShare> phases;  // those that took time
  double starved_share = 0.0;
};
PhaseTable phase_table(const LayoutSteps& steps);

// Kinds of groups with more than one member; their waiting and transferring are left absent.
std::vector<Exposed> exposed_communication(const LayoutSteps& steps);

// The share of the pipeline's communication, waiting and transferring, in forward + backward + their communication.
std::optional<double> measured_bubble(const LayoutSteps& steps);
// (p - 1) / (v m + p - 1), of p stages with v chunks of layers each, and m micro-batches.
std::optional<double> ideal_bubble(int stages, int micro_batches, int virtual_stages);

std::optional<Quantiles> step_quantiles(const LayoutSteps& steps);
// The median number of tokens of a step over the median step time.
std::optional<double> tokens_per_second(const LayoutSteps& steps);
// Model FLOPs a second and rank, at the median step.
std::optional<double> flops_per_second(const LayoutSteps& steps);

// Tokens over seconds of each bin of steps; warm-up included.
Curve throughput_curve(const LayoutSteps& steps);

}  // namespace convoy::analysis
