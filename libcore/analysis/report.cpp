// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "libcore/analysis/communication.h"
#include "libcore/analysis/heat_map.h"
#include "libcore/analysis/layout_steps.h"
#include "libcore/analysis/metrics_file.h"
#include "libcore/analysis/phases.h"
#include "libcore/analysis/statistics.h"
#include "libcore/analysis/stragglers.h"
#include "libcore/analysis/verdict.h"

namespace convoy::analysis {
namespace {

using LayoutSegments = std::vector<const Segment*>;

// Segments of equal layout together; the layout of the newest segment last.
std::vector<LayoutSegments> by_layout(const std::vector<Segment>& segments) {
  std::vector<LayoutSegments> result;
  const auto newest = std::ranges::max_element(segments, {}, &Segment::attempt);
  const auto same = [](const Segment& a, const Segment& b) {
    return layout_of(a.header) == layout_of(b.header) && a.header.threads == b.header.threads;
  };
  for (const Segment& segment : segments) {
    const auto found = std::ranges::find_if(result, [&](const auto& group) { return same(*group.front(), segment); });
    if (found == result.end())
      result.push_back({&segment});
    else
      found->push_back(&segment);
  }
  const auto last = std::ranges::find_if(result, [&](const auto& group) { return same(*group.front(), *newest); });
  std::rotate(last, last + 1, result.end());
  return result;
}

std::string time_of(std::int64_t unix_ns) {
  const std::time_t seconds = unix_ns / 1'000'000'000;
  std::tm utc{};
  if (unix_ns <= 0 || ::gmtime_r(&seconds, &utc) == nullptr) return {};
  char text[64];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
  return {text, length};
}

struct MapAndLevels {
  HeatMap map;
  std::vector<std::optional<double>>
      levels;  // [rank] of the layout last added: median of its total excess, a ratio - 1
};

void add_rows(const Excess& excess, const Comparison& comparison, bool is_comparable, MapAndLevels& result) {
  for (std::size_t i = 0; i < excess.ranks.size(); ++i) {
    const std::span<const float> row = excess.row(i);
    for (std::size_t step = 0; step < row.size(); ++step)
      add_to(result.map, excess.ranks[i], comparison.steps[step], std::expm1(static_cast<double>(row[step])));
    if (!is_comparable) continue;  // a rank without peers has no level against them
    std::vector<float> values = present(row);
    if (const std::optional<float> middle = median(std::span<float>(values)))
      result.levels[static_cast<std::size_t>(excess.ranks[i])] = std::expm1(static_cast<double>(*middle));
  }
}

void add_to_map(const Comparison& comparison, MapAndLevels& result) {
  result.levels.assign(comparison.ranks.size(), std::nullopt);
  std::vector<int> solitary;
  for (const PeerSet& set : peer_sets(comparison.layout, comparison.ranks)) {
    if (set.ranks.size() >= 2)
      add_rows(total_over_peers(comparison, set.ranks), comparison, true, result);
    else
      solitary.push_back(set.ranks.front());
  }
  if (solitary.size() >= 2) add_rows(total_over_themselves(comparison, solitary), comparison, false, result);
}

std::optional<double> median_own_seconds(const Comparison& comparison, std::size_t rank) {
  std::vector<double> seconds;
  for (std::size_t step = 0; step < comparison.steps.size(); ++step) {
    if (std::isnan(comparison.step_seconds[step])) continue;
    if (const auto own = comparison.own.training_seconds(step, rank)) seconds.push_back(*own);
  }
  return median(seconds);
}

std::vector<RankRow> rank_rows(const LayoutSteps& steps, const std::vector<std::optional<double>>& levels) {
  std::vector<RankRow> rows;
  for (std::size_t rank = 0; rank < steps.ranks.size(); ++rank) {
    const RankPlace& place = steps.comparison.ranks[rank];
    if (!place.present) continue;
    const RankMeans& means = steps.ranks[rank];
    rows.push_back({.rank = static_cast<int>(rank),
                    .host = place.host,
                    .at = place.at,
                    .steps = means.steps,
                    .own_seconds = median_own_seconds(steps.comparison, rank).value_or(0.0),
                    .excess = levels[rank],
                    .communication_seconds = means.communication,
                    .starved_share = means.duration > 0.0 ? means.delay / means.duration : 0.0});
  }
  return rows;
}

// What only the newest layout's steps say: rates and tables.
void describe(const LayoutSteps& steps, const ReportOptions& options, Report& report) {
  report.step_seconds = step_quantiles(steps);
  report.tokens_per_second = tokens_per_second(steps);
  const PhaseTable table = phase_table(steps);
  report.phases = table.phases;
  report.starved_share = table.starved_share;
  report.exposed = exposed_communication(steps);
  report.bubble_measured = measured_bubble(steps);
  report.bubble_ideal = ideal_bubble(steps.header.pipeline, steps.header.micro_batches, steps.header.virtual_stages);
  report.throughput = throughput_curve(steps);
  const std::optional<double> flops = flops_per_second(steps);
  if (!options.peak_tflops || !flops) return;
  const double mfu = *flops / (*options.peak_tflops * 1e12);
  if (mfu <= 1.0)
    report.mfu = mfu;
  else
    report.incomplete.push_back(fmt::format(
        "a model FLOPs utilisation of {:.0f} % cannot be: check --peak-tflops (dense, of one rank's device)",
        100.0 * mfu));
}

void name_segments(const TraceSet& traces, const std::vector<LayoutSegments>& layouts, Report& report) {
  const Segment& newest = *std::ranges::max_element(traces.segments(), {}, &Segment::attempt);
  report.ranks = newest.header.world;
  report.ranks_read =
      static_cast<int>(std::ranges::count_if(newest.file_of_rank, [](int index) { return index >= 0; }));
  for (const int index : newest.file_of_rank)
    if (index >= 0) {
      report.header = traces.files()[static_cast<std::size_t>(index)].header;
      break;
    }
  report.started = time_of(report.header.started_unix_ns);
  for (const TraceFile& file : traces.files()) {
    report.attempts = std::max<std::int64_t>(report.attempts, file.header.attempt);
    if (file.begin == 0) continue;
    const bool is_first = report.recorded.last < report.recorded.first;
    report.recorded.first = is_first ? file.begin : std::min(report.recorded.first, file.begin);
    report.recorded.last = std::max(report.recorded.last, file.end);
  }
  if (layouts.size() > 1)
    report.incomplete.push_back(
        fmt::format("the run had {} layouts: rates, phases and rank rows are of the newest, {} ranks", layouts.size(),
                    report.ranks));
}

// A restarted run may have its ranks on other hosts: of a straggler, those count on which its steps were.
void name_hosts(const TraceSet& traces, const LayoutSegments& segments, std::vector<Straggler>& stragglers) {
  for (Straggler& straggler : stragglers) {
    std::vector<std::string> hosts;
    for (const Segment* segment : segments) {
      const int index = segment->file_of_rank[static_cast<std::size_t>(straggler.rank)];
      if (index < 0 || segment->last_step < straggler.first_step || segment->first_step > straggler.last_step) continue;
      const std::string& host = traces.files()[static_cast<std::size_t>(index)].header.host;
      if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
    }
    if (!hosts.empty()) straggler.host = fmt::format("{}", fmt::join(hosts, ", "));
  }
}

HeatMap map_over(const std::vector<Segment>& segments) {
  int world = 0;
  std::int64_t first = segments.front().first_step, last = segments.front().last_step;
  for (const Segment& segment : segments) {
    world = std::max(world, segment.header.world);
    first = std::min(first, segment.first_step);
    last = std::max(last, segment.last_step);
  }
  return make_heat_map(world, first, last);
}

// Losses were shares of each layout's own time.
void merge(std::vector<std::pair<Judgement, double>> judgements, Report& report) {
  double all = 0.0;
  for (const auto& [judgement, seconds] : judgements) all += seconds;
  for (auto& [judgement, seconds] : judgements) {
    for (Straggler& straggler : judgement.stragglers) {
      straggler.lost_percent *= seconds / all;
      report.stragglers.push_back(std::move(straggler));
    }
    report.abstained.insert(report.abstained.end(), judgement.abstained.begin(), judgement.abstained.end());
  }
  std::ranges::stable_sort(report.stragglers, std::greater{}, &Straggler::lost_percent);
}

}  // namespace

const char* name_of(Cause cause) {
  switch (cause) {
    case Cause::kCompute:
      return "compute";
    case Cause::kData:
      return "data";
    case Cause::kHost:
      return "host";
    case Cause::kLink:
      return "link";
    case Cause::kCheckpoint:
      return "checkpoint";
    case Cause::kUnknown:
      break;
  }
  return "unknown";
}

Report make_report(const Path& run, const ReportOptions& options) {
  const TraceSet traces = TraceSet::open(run, options.range);
  const std::vector<LayoutSegments> layouts = by_layout(traces.segments());
  Report report;
  report.run = run.string();
  report.peak_tflops = options.peak_tflops;
  report.incomplete = traces.incomplete();
  name_segments(traces, layouts, report);
  MapAndLevels map{.map = map_over(traces.segments()), .levels = {}};
  std::vector<std::pair<Judgement, double>> judgements;
  for (const LayoutSegments& segments : layouts) {
    const LayoutSteps steps = collect(traces, segments);
    report.steps += steps.recorded_steps;
    report.warm_up_steps += steps.warm_up_steps;
    judgements.emplace_back(find_stragglers(steps.comparison), training_seconds(steps.comparison));
    name_hosts(traces, segments, judgements.back().first.stragglers);
    report.judged = report.judged || judgements.back().first.judged;
    add_to_map(steps.comparison, map);
    if (&segments != &layouts.back()) continue;
    describe(steps, options, report);
    report.rank_rows = rank_rows(steps, map.levels);
  }
  merge(std::move(judgements), report);
  report.heat_map = std::move(map.map);
  split_exposed(traces, options.range, report.exposed);
  add_metrics(run, options.range, report);
  report.verdict = verdict_of(report);
  return report;
}

}  // namespace convoy::analysis
