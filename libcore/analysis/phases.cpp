// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/phases.h"

#include <algorithm>
#include <cmath>

#include "libcore/analysis/statistics.h"

namespace convoy::analysis {
namespace {

using trace::GroupKind;
using trace::Phase;

constexpr std::size_t kCurvePoints = 1024;

// Of the steps that count, over all their ranks. Seconds.
struct Totals {
  std::array<double, trace::kPhases> own = {};
  double delay = 0.0;
  double all = 0.0;
  double training_delay = 0.0;
  std::int64_t records = 0;
  double operator[](Phase phase) const { return own[static_cast<std::size_t>(phase)]; }
};

Totals totals_of(const LayoutSteps& steps) {
  Totals totals;
  for (std::size_t step = 0; step < steps.sums.size(); ++step) {
    if (std::isnan(steps.comparison.step_seconds[step])) continue;
    const StepSums& sums = steps.sums[step];
    totals.records += sums.ranks;
    for (std::size_t phase = 0; phase < trace::kPhases; ++phase) {
      totals.own[phase] += 1e-9 * sums.own[phase];
      totals.delay += 1e-9 * sums.delay[phase];
      if (trace::is_training(static_cast<Phase>(phase))) totals.training_delay += 1e-9 * sums.delay[phase];
    }
  }
  for (const double own : totals.own) totals.all += own;
  totals.all += totals.delay;
  return totals;
}

std::optional<double> median_seconds(const LayoutSteps& steps) {
  std::vector<double> seconds = counted_seconds(steps.comparison);
  const std::optional<double> middle = median(seconds);
  return middle && *middle > 0.0 ? middle : std::nullopt;
}

}  // namespace

PhaseTable phase_table(const LayoutSteps& steps) {
  const Totals totals = totals_of(steps);
  PhaseTable table;
  if (totals.records == 0 || totals.all <= 0.0) return table;
  for (std::size_t phase = 0; phase < trace::kPhases; ++phase) {
    if (totals.own[phase] <= 0.0) continue;
    table.phases.push_back({.phase = static_cast<Phase>(phase),
                            .mean_seconds = totals.own[phase] / static_cast<double>(totals.records),
                            .share = totals.own[phase] / totals.all});
  }
  table.starved_share = totals.delay / totals.all;
  return table;
}

std::vector<Exposed> exposed_communication(const LayoutSteps& steps) {
  const Totals totals = totals_of(steps);
  const Layout& layout = steps.comparison.layout;
  double training = totals.training_delay;
  for (std::size_t phase = 0; phase < trace::kPhases; ++phase)
    if (trace::is_training(static_cast<Phase>(phase))) training += totals.own[phase];
  std::vector<Exposed> result;
  if (totals.records == 0 || training <= 0.0) return result;
  const std::pair<GroupKind, int> kinds[] = {{GroupKind::kTensor, layout.tensor},
                                             {GroupKind::kPipeline, layout.pipeline},
                                             {GroupKind::kData, layout.data},
                                             {GroupKind::kWorld, layout.world()}};
  for (const auto& [kind, size] : kinds) {
    const double seconds = totals[trace::communication_phase(kind)];
    // Rows that were imported without coordinates are of replicas, but may be of other groups' calls.
    if (size < 2 && (seconds <= 0.0 || layout.world() < 2)) continue;
    result.push_back({.group = kind,
                      .seconds = seconds / static_cast<double>(totals.records),
                      .share = seconds / training,
                      .waiting = std::nullopt,
                      .transferring = std::nullopt});
  }
  return result;
}

std::optional<double> measured_bubble(const LayoutSteps& steps) {
  if (steps.comparison.layout.pipeline < 2) return std::nullopt;
  const Totals totals = totals_of(steps);
  const double waiting = totals[Phase::kPipelineComm];
  const double region = totals[Phase::kForward] + totals[Phase::kBackward] + totals[Phase::kTensorComm] + waiting;
  if (region <= 0.0) return std::nullopt;
  return waiting / region;
}

std::optional<double> ideal_bubble(int stages, int micro_batches, int virtual_stages) {
  if (stages < 2 || micro_batches < 1) return std::nullopt;
  const double passes = static_cast<double>(virtual_stages) * micro_batches;
  return (stages - 1.0) / (passes + stages - 1.0);
}

std::optional<Quantiles> step_quantiles(const LayoutSteps& steps) {
  std::vector<double> seconds = counted_seconds(steps.comparison);
  if (seconds.empty()) return std::nullopt;
  Quantiles result;
  result.p50 = *median(seconds);
  result.p95 = *quantile(seconds, 0.95);
  result.p99 = *quantile(seconds, 0.99);
  result.max = *std::ranges::max_element(seconds);
  if (result.max <= 0.0) return std::nullopt;  // evaluation and checkpoints alone
  return result;
}

std::optional<double> tokens_per_second(const LayoutSteps& steps) {
  std::vector<double> tokens;
  for (std::size_t step = 0; step < steps.sums.size(); ++step)
    if (!std::isnan(steps.comparison.step_seconds[step]))
      tokens.push_back(static_cast<double>(steps.sums[step].tokens));
  const std::optional<double> middle = median(tokens);
  const std::optional<double> seconds = median_seconds(steps);
  if (!middle || !seconds || *middle <= 0.0) return std::nullopt;
  return *middle / *seconds;
}

std::optional<double> flops_per_second(const LayoutSteps& steps) {
  const trace::Header& header = steps.header;
  const std::optional<double> rate = tokens_per_second(steps);  // a batch that grows has other tokens than the header's
  if (!rate || !(header.flops_per_token > 0.0)) return std::nullopt;
  return header.flops_per_token * *rate / header.world;
}

Curve throughput_curve(const LayoutSteps& steps) {
  Curve curve;
  const std::size_t bin = (steps.sums.size() + kCurvePoints - 1) / kCurvePoints;
  for (std::size_t first = 0; first < steps.sums.size(); first += bin) {
    double tokens = 0.0, seconds = 0.0;
    for (std::size_t step = first; step < std::min(first + bin, steps.sums.size()); ++step) {
      if (std::isnan(steps.all_seconds[step])) continue;
      tokens += static_cast<double>(steps.sums[step].tokens);
      seconds += static_cast<double>(steps.all_seconds[step]);
    }
    if (tokens <= 0.0 || seconds <= 0.0) continue;
    curve.steps.push_back(steps.comparison.steps[first]);
    curve.values.push_back(tokens / seconds);
  }
  return curve;
}

}  // namespace convoy::analysis
