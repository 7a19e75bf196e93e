// SPDX-License-Identifier: Apache-2.0
// Reports made by hand, for the tests of what shows them.
#pragma once

#include <cmath>
#include <limits>

#include "libcore/analysis/report.h"

namespace convoy::analysis {

// A run of 8 ranks (dp 2 x pp 2 x tp 2) whose rank 3 computes its forward pass 50 % slower in steps 11 to 40.
inline Report made_report() {
  Report report;
  report.run = "runs/first";
  report.started = "2026-11-30 14:02:11 UTC";
  report.ranks = report.ranks_read = 8;
  report.header.tensor = report.header.pipeline = report.header.data = 2;
  report.header.flops_convention = "6N + 12LCT a token";
  report.steps = 40;
  report.warm_up_steps = 2;
  report.step_seconds = Quantiles{0.2, 0.21, 0.22, 0.25};
  report.tokens_per_second = 12345.0;
  report.mfu = 0.312;
  report.peak_tflops = 0.1;
  report.phases = {{trace::Phase::kOther, 0.002, 0.01},     {trace::Phase::kData, 0.002, 0.01},
                   {trace::Phase::kForward, 0.05, 0.25},    {trace::Phase::kBackward, 0.1, 0.5},
                   {trace::Phase::kOptimizer, 0.006, 0.03}, {trace::Phase::kTensorComm, 0.02, 0.1},
                   {trace::Phase::kDataComm, 0.01, 0.05},   {trace::Phase::kWorldComm, 0.004, 0.02}};
  report.starved_share = 0.03;
  report.exposed = {{trace::GroupKind::kTensor, 0.02, 0.1, 0.016, 0.004},
                    {trace::GroupKind::kData, 0.01, 0.05, {}, {}}};
  report.bubble_measured = 0.25;
  report.bubble_ideal = 0.2;
  Straggler slow;
  slow.rank = 3;
  slow.host = "n01";
  slow.at = {1, 1, 0};
  slow.cause = Cause::kCompute;
  slow.phase = trace::Phase::kForward;
  slow.excess_percent = 50.1;
  slow.steps_affected = 29;
  slow.first_step = 11;
  slow.last_step = 40;
  slow.step_excess_percent = 12.5;
  slow.lost_percent = 9.1;
  report.stragglers = {slow};
  report.judged = true;
  report.verdict =
      "rank 3 on n01 computes its forward pass 50.1 % slower than its peers; the run lost 9.1 % of its time";
  report.heat_map = {1, 40, 1, 1, 8, 40, std::vector<float>(320, 0.005F)};
  for (int column = 10; column < 40; ++column) report.heat_map.cells[static_cast<std::size_t>(3 * 40 + column)] = 0.5F;
  for (int column = 0; column < 5; ++column)
    report.heat_map.cells[static_cast<std::size_t>(column)] = std::numeric_limits<float>::quiet_NaN();
  for (int rank = 0; rank < 8; ++rank) {
    RankRow row{rank, "n01", {rank % 2, rank / 2 % 2, rank / 4}, 40, 0.15, rank == 3 ? 0.5 : 0.001, 0.04, 0.03};
    report.rank_rows.push_back(row);
  }
  for (std::int64_t step = 1; step <= 40; ++step) {
    report.loss.steps.push_back(step);
    report.loss.values.push_back(8.0 / std::sqrt(static_cast<double>(step)));
    report.learning_rate.steps.push_back(step);
    report.learning_rate.values.push_back(3e-4 * static_cast<double>(std::min<std::int64_t>(step, 10)) / 10);
    report.throughput.steps.push_back(step);
    report.throughput.values.push_back(step <= 10 ? 14000.0 : 12345.0);
  }
  return report;
}

// Of a run of which nothing could be measured.
inline Report empty_report() {
  Report report;
  report.run = "runs/empty";
  report.ranks = 1;
  report.verdict = "no step was recorded";
  return report;
}

}  // namespace convoy::analysis
