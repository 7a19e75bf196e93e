// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "libcore/analysis/markup.h"
#include "libcore/analysis/page_chart.h"
#include "libcore/analysis/page_frame.h"
#include "libcore/analysis/page_heat_map.h"
#include "libcore/analysis/page_tables.h"
#include "libcore/analysis/report_numbers.h"
#include "libcore/analysis/report_writers.h"
#include "libcore/base/version.h"

namespace convoy::analysis {
namespace {

constexpr std::size_t kMostSentences = 200;  // beyond them nobody reads on; the page stays below its 2 MB

PageFrame frame_of(const Report& report) {
  const std::string hosts = place_line(report);
  std::string times = "steps " + steps_line(report);
  if (!report.started.empty()) times += "; started " + report.started;
  return {.title = report.run + ": convoy-profile report",
          .heading = report.run,
          .below = {"ranks " + layout_line(report) + (hosts.empty() ? "" : ", on " + hosts), times},
          .footer = fmt::format("convoy-profile {}. docs/profile.md has the formula of each number. Ranks are compared by their own work and "
                                "aligned by step number, never by clock.",
                                version())};
}

std::string verdict(const Report& report) {
  const bool sure = report.judged && report.abstained.empty();
  const char* kind = !report.stragglers.empty() ? "bad" : sure ? "good" : "warn";
  std::string html = fmt::format("<div class=\"verdict {}\"><p>{}</p>", kind,
                                 escaped(report.verdict.empty() ? kNotMeasured : report.verdict));
  for (std::size_t i = 0; i < std::min(report.abstained.size(), kMostSentences); ++i)
    html += "<p>" + escaped(report.abstained[i]) + "</p>";
  return html + "</div>\n";
}

std::string step_tile(const Report& report) {
  if (!report.step_seconds) return tile("Training step, median", kNotMeasured, "");
  const Quantiles& q = *report.step_seconds;
  const TimeUnit unit = unit_for(q.p50);
  return tile("Training step, median", with_unit(q.p50, unit),
              fmt::format("p95 {}, p99 {}, max {} {}", in_unit(q.p95, unit), in_unit(q.p99, unit), in_unit(q.max, unit),
                          unit.name));
}

std::string throughput_tile(const Report& report) {
  constexpr std::string_view kUnit = " tokens/s";
  std::string rate = tokens_rate(report.tokens_per_second);
  if (!rate.ends_with(kUnit)) return tile("Throughput", rate, "");
  rate.resize(rate.size() - kUnit.size());
  return tile("Throughput", rate, "tokens/s at the median step");
}

std::string tiles(const Report& report) {
  std::string html = "<dl class=\"tiles\">" + step_tile(report);
  html += throughput_tile(report);
  const std::string mfu = percent(report.mfu), whole = mfu_line(report);
  const std::size_t rest = std::min(whole.size(), mfu.size() + 1);
  html += tile("MFU", mfu, whole.substr(rest));
  html += tile("Exposed communication", percent(exposed_share(report)), "of the training step");
  if (report.bubble_measured || report.bubble_ideal)
    html += tile("Pipeline bubble", percent(report.bubble_measured),
                 "an ideal schedule has " + percent(report.bubble_ideal));
  html += tile("No core (starved)", report.phases.empty() ? kNotMeasured : percent(report.starved_share),
               "of the whole step, run-delay");
  return html + "</dl>\n";
}

std::string heat_map(const Report& report) {
  const std::string figure = heat_map_figure(report);
  if (figure.empty()) return "";
  const HeatMap& map = report.heat_map;
  std::string note =
      "Each row is a rank, each column a step: how much longer the rank's own work took than its "
      "peers'. A row that stands out is a slow rank, a column a slow moment.";
  if (map.ranks_per_row > 1 || map.steps_per_column > 1) {
    note += fmt::format(" A cell is the largest of {} rank{} x {} step{}.", map.ranks_per_row,
                        map.ranks_per_row == 1 ? "" : "s", map.steps_per_column, map.steps_per_column == 1 ? "" : "s");
  }
  return section("Rank by step", note, figure);
}

std::string how_to_read() {
  return section(
      "How to read this page", "Synchronous training moves at the speed of the slowest rank.",
      "<ul class=\"plain\"><li>Everybody waits inside collectives: the waiting ranks look slow, the one that "
      "delays them looks busy. So ranks are judged by own work alone.</li><li>Peers of a rank are those of the "
      "same pipeline stage and tensor position; a rank without peers is compared with its own other "
      "steps.</li><li>Where the evidence is thin nobody is named, and the page says so at its "
      "top.</li></ul>");
}

StepRange steps_of(const Report& report) {
  StepRange range{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for (const Curve* curve : {&report.loss, &report.learning_rate, &report.throughput}) {
    if (curve->steps.empty()) continue;
    range.first = std::min(range.first, curve->steps.front());
    range.last = std::max(range.last, curve->steps.back());
  }
  return range;
}

// The steps in which somebody was slow, where they are a part of the run.
std::vector<StepRange> slow_steps(const Report& report, const StepRange& all) {
  std::vector<StepRange> bands;
  for (const Straggler& s : report.stragglers) {
    const bool everywhere = s.last_step - s.first_step >= (all.last - all.first) / 20 * 19;
    if (s.last_step >= s.first_step && !everywhere && bands.size() < 8) bands.push_back({s.first_step, s.last_step});
  }
  return bands;
}

std::string curves(const Report& report) {
  const StepRange all = steps_of(report);
  const std::vector<StepRange> bands = slow_steps(report, all);
  std::string html;
  html += chart_figure({"Throughput, tokens a second", &report.throughput, true, all.first, all.last, bands});
  html += chart_figure({"Loss, nats a token", &report.loss, false, all.first, all.last, bands});
  html += chart_figure({"Learning rate", &report.learning_rate, true, all.first, all.last, bands});
  if (html.empty()) return "";
  std::string note = "Throughput from the traces; loss and learning rate from metrics.jsonl.";
  if (!bands.empty()) note += " Shaded: the steps in which a named rank was slow.";
  return section("Curves", note, "<div class=\"charts\">" + html + "</div>");
}

std::string incomplete(const Report& report) {
  if (report.incomplete.empty()) return "";
  std::string html = "<ul class=\"plain\">";
  for (std::size_t i = 0; i < std::min(report.incomplete.size(), kMostSentences); ++i)
    html += "<li>" + escaped(report.incomplete[i]) + "</li>";
  if (report.incomplete.size() > kMostSentences)
    html += fmt::format("<li>{} more are in --json</li>", report.incomplete.size() - kMostSentences);
  return section("What is missing", "Not read, or not used; the numbers above are of the rest.", html + "</ul>");
}

}  // namespace

std::string report_html(const Report& report) {
  std::string html = verdict(report) + tiles(report) + straggler_section(report) + heat_map(report);
  html += "<div class=\"pair\"><div>" + phase_section(report) + "</div><div>" + communication_section(report) +
          how_to_read() + "</div></div>\n";
  html += curves(report) + rank_section(report) + incomplete(report);
  return framed_page(frame_of(report), html);
}

}  // namespace convoy::analysis
