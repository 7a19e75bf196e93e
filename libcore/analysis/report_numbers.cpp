// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/report_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "libcore/base/units.h"

namespace convoy::analysis {
namespace {

using trace::Phase;

// As a step goes.
constexpr std::array kOrder = {Phase::kData,       Phase::kForward,        Phase::kBackward,   Phase::kOptimizer,
                               Phase::kTensorComm, Phase::kPipelineComm,   Phase::kDataComm,   Phase::kWorldComm,
                               Phase::kEvaluation, Phase::kEvaluationComm, Phase::kCheckpoint, Phase::kCheckpointComm,
                               Phase::kOther};

const char* kind_of(Phase phase) {
  switch (phase) {
    case Phase::kData:
    case Phase::kForward:
    case Phase::kBackward:
    case Phase::kOptimizer:
      return "compute";
    case Phase::kTensorComm:
    case Phase::kPipelineComm:
    case Phase::kDataComm:
    case Phase::kWorldComm:
      return "communication";
    case Phase::kCheckpoint:
    case Phase::kEvaluation:
    case Phase::kCheckpointComm:
    case Phase::kEvaluationComm:
      return "storage";
    case Phase::kOther:
      break;
  }
  return "other";
}

bool finite(double value) { return std::isfinite(value); }

// Of a step with all that is in it: from any phase's time and share.
double mean_step_seconds(const Report& report) {
  const auto largest = std::max_element(report.phases.begin(), report.phases.end(),
                                        [](const PhaseShare& a, const PhaseShare& b) { return a.share < b.share; });
  if (largest == report.phases.end() || !(largest->share > 0)) return 0.0;
  return largest->mean_seconds / largest->share;
}

// Tenths of a percent by largest remainder, so that what is printed sums to what the shares sum to.
void show_shares(std::vector<PhaseRow>& rows) {
  std::vector<std::int64_t> tenths;
  std::vector<std::size_t> order(rows.size());
  double sum = 0.0;
  for (const PhaseRow& row : rows) {
    tenths.push_back(static_cast<std::int64_t>(std::floor(row.share * 1000)));
    sum += row.share;
  }
  std::iota(order.begin(), order.end(), 0u);
  const auto remainder = [&rows, &tenths](std::size_t i) {
    return rows[i].share * 1000 - static_cast<double>(tenths[i]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainder(a) > remainder(b); });
  std::int64_t left = std::llround(sum * 1000) - std::accumulate(tenths.begin(), tenths.end(), std::int64_t{0});
  for (const std::size_t i : order) {
    if (left-- <= 0) break;
    ++tenths[i];
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i].shown_share = fmt::format("{}.{} %", tenths[i] / 10, tenths[i] % 10);
}

}  // namespace

std::string percent(double share, int decimals) {
  return finite(share) ? fmt::format("{:.{}f} %", 100 * share, decimals) : kNotMeasured;
}

std::string percent(const std::optional<double>& share) { return share ? percent(*share) : kNotMeasured; }

std::string signed_percent(double value) { return finite(value) ? fmt::format("{:+.1f} %", value) : kNotMeasured; }

std::string signed_percent_of(std::optional<double> share) {
  return share ? signed_percent(100 * *share) : kNotMeasured;
}

std::string tokens_rate(const std::optional<double>& value) {
  if (!value || !finite(*value)) return kNotMeasured;
  const std::string count = *value < 1000 ? fmt::format("{:.1f}", *value) : format_count(*value);
  return count + " tokens/s";
}

TimeUnit unit_for(double seconds) {
  if (seconds <= 0) return {};
  if (!(seconds < 100)) return {"s", 1.0, 1};
  if (seconds >= 10) return {"s", 1.0, 2};
  if (seconds >= 1) return {"ms", 1e3, 0};
  if (seconds >= 0.1) return {"ms", 1e3, 1};
  if (seconds >= 1e-3) return {"ms", 1e3, 2};
  return {"us", 1e6, 1};
}

std::string in_unit(double seconds, const TimeUnit& unit) {
  return finite(seconds) ? fmt::format("{:.{}f}", seconds * unit.a_second, unit.decimals) : kNotMeasured;
}

std::string in_unit(const std::optional<double>& seconds, const TimeUnit& unit) {
  return seconds ? in_unit(*seconds, unit) : kNotMeasured;
}

std::string with_unit(double seconds, const TimeUnit& unit) {
  return finite(seconds) ? fmt::format("{} {}", in_unit(seconds, unit), unit.name) : kNotMeasured;
}

std::vector<PhaseRow> phase_rows(const Report& report) {
  std::vector<PhaseRow> rows;
  for (const Phase phase : kOrder) {
    const auto found = std::find_if(report.phases.begin(), report.phases.end(),
                                    [phase](const PhaseShare& share) { return share.phase == phase; });
    if (found == report.phases.end() || !finite(found->mean_seconds) || !finite(found->share)) continue;
    if (found->mean_seconds > 0 || phase == Phase::kOther)
      rows.push_back({spelled(phase), kind_of(phase), found->mean_seconds, found->share, ""});
  }
  if (rows.empty()) return rows;
  const double starved = finite(report.starved_share) ? report.starved_share : 0.0;
  rows.push_back({"no core (starved)", "starved", starved * mean_step_seconds(report), starved, ""});
  show_shares(rows);
  return rows;
}

double total_seconds(const std::vector<PhaseRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [](double sum, const PhaseRow& row) { return sum + row.seconds; });
}

std::optional<double> exposed_share(const Report& report) {
  if (report.exposed.empty()) return std::nullopt;
  return std::accumulate(report.exposed.begin(), report.exposed.end(), 0.0,
                         [](double sum, const Exposed& exposed) { return sum + exposed.share; });
}

std::string spelled(Phase phase) {
  std::string name(trace::name_of(phase));
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string layout_line(const Report& report) {
  const trace::Header& header = report.header;
  std::string line = fmt::format("{} = {} data x {} pipeline x {} tensor parallel", report.ranks, header.data,
                                 header.pipeline, header.tensor);
  if (report.ranks_read != report.ranks) line += fmt::format("; traces of {} could be read", report.ranks_read);
  return line;
}

std::string place_line(const Report& report) {
  std::vector<std::string> hosts;
  for (const RankRow& row : report.rank_rows) hosts.push_back(row.host);
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  if (hosts.empty()) return "";
  return fmt::format("{} host{}", hosts.size(), hosts.size() == 1 ? "" : "s");
}

std::string steps_line(const Report& report) {
  std::string line = fmt::format("{}", report.steps);
  if (report.warm_up_steps > 0) line += fmt::format(", of them {} of warm-up left out", report.warm_up_steps);
  if (report.attempts > 1) line += fmt::format("; {} attempts", report.attempts);
  return line;
}

std::string mfu_line(const Report& report) {
  std::string line = percent(report.mfu);
  if (!report.mfu) return line + (report.peak_tflops ? "" : " (needs --peak-tflops)");
  if (report.peak_tflops && finite(*report.peak_tflops))
    line += fmt::format(" of a peak of {:.3g} TFLOP/s a rank", *report.peak_tflops);
  if (!report.header.flops_convention.empty()) line += fmt::format("; FLOPs: {}", report.header.flops_convention);
  return line;
}

std::string bubble_line(const Report& report) {
  return fmt::format("{}, {} of an ideal schedule",
                     report.bubble_measured ? percent(report.bubble_measured) + " measured" : kNotMeasured,
                     report.bubble_ideal ? percent(report.bubble_ideal) : "unknown");
}

std::string coordinates(const trace::Coordinates& at) {
  return fmt::format("({}, {}, {})", at.data, at.pipeline, at.tensor);
}

std::string affected_steps(const Straggler& straggler) {
  if (straggler.last_step < straggler.first_step) return fmt::format("{}", straggler.steps_affected);
  return fmt::format("{} in {}-{}", straggler.steps_affected, straggler.first_step, straggler.last_step);
}

std::string compared_with(const Straggler& straggler) {
  return straggler.against_itself ? "its own other steps" : "its peers";
}

}  // namespace convoy::analysis
