// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include "libcore/analysis/markup.h"
#include "libcore/analysis/page/page_assets.h"
#include "libcore/analysis/page_chart.h"
#include "libcore/analysis/page_heat_map.h"
#include "libcore/analysis/report_numbers.h"
#include "libcore/analysis/report_writers.h"
#include "libcore/base/version.h"

namespace convoy::analysis {
namespace {

// Beyond this a table is no longer read; the page stays below its 2 MB.
constexpr std::size_t kMostRankRows = 1024;
constexpr std::size_t kMostStragglers = 100;
constexpr std::size_t kMostSentences = 200;
constexpr std::size_t kMostRankBytes = 280'000;
constexpr std::size_t kOpenRankRows = 64;

std::string section(std::string_view title, std::string_view note, std::string_view content) {
  return fmt::format("<section><h2>{}</h2>\n<p class=\"note\">{}</p>\n{}</section>\n", title, note, content);
}

std::string head(const Report& report) {
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += "<link rel=\"icon\" href=\"data:,\">\n";
  html += fmt::format("<title>{}: convoy-profile report</title>\n<style>\n{}</style>\n</head>\n", escaped(report.run),
                      kPageStyle);
  return html;
}

std::string title(const Report& report) {
  const std::string hosts = place_line(report);
  std::string meta = layout_line(report) + (hosts.empty() ? "" : ", on " + hosts);
  std::string times = "steps " + steps_line(report);
  if (!report.started.empty()) times += "; started " + report.started;
  return fmt::format(
      "<header><div><h1>{}</h1><p class=\"meta\">ranks {}</p><p class=\"meta\">{}</p></div>"
      "<button id=\"theme\" class=\"needs-js\" type=\"button\">Dark</button></header>\n",
      escaped(report.run), escaped(meta), escaped(times));
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

std::string tile(std::string_view name, const std::string& value, const std::string& more) {
  return fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>", name, escaped(value), escaped(more));
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

std::string straggler_row(const Straggler& s) {
  return fmt::format(
      "<tr><td class=\"n\">{}</td><td class=\"host\">{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td>"
      "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
      s.rank, escaped(shown_host(s.host)), coordinates(s.at), name_of(s.cause), spelled(s.phase),
      signed_percent(s.excess_percent), affected_steps(s), signed_percent(s.step_excess_percent),
      percent(s.lost_percent / 100), compared_with(s));
}

std::string stragglers(const Report& report) {
  constexpr std::string_view kNote =
      "A rank is named where its own work in a phase, without waiting and without time it had no core, is longer than "
      "its peers' by more than chance. Lost: of the whole run's training time.";
  if (report.stragglers.empty()) return section("Stragglers", kNote, "<p>None is named.</p>");
  std::string html =
      "<div class=\"wide\"><table><thead><tr><th class=\"n\">rank</th><th>host</th><th>(dp, pp, tp)</th><th>cause</th>"
      "<th>phase</th><th class=\"n\">excess of the phase</th><th class=\"n\">steps</th><th class=\"n\">of the step</th>"
      "<th class=\"n\">lost</th><th>compared with</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(report.stragglers.size(), kMostStragglers); ++i)
    html += straggler_row(report.stragglers[i]);
  html += "</tbody></table></div>";
  if (report.stragglers.size() > kMostStragglers)
    html += fmt::format("<p class=\"note\">{} more are in --json.</p>", report.stragglers.size() - kMostStragglers);
  return section("Stragglers", kNote, html);
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

std::string stack(const std::vector<PhaseRow>& rows) {
  std::string html = "<div class=\"stack\" role=\"img\" aria-label=\"Shares of a step\">";
  for (const PhaseRow& row : rows) {
    if (row.share > 0)
      html += fmt::format("<span class=\"{}\" style=\"width:{:.3f}%\" title=\"{}: {}\"></span>", row.kind,
                          100 * row.share, row.name, row.shown_share);
  }
  return html +
         "</div><ul class=\"key\"><li><i class=\"compute\"></i>computation</li><li><i "
         "class=\"communication\"></i>exposed "
         "communication</li><li><i class=\"storage\"></i>evaluation, checkpoints</li><li><i "
         "class=\"other\"></i>other</li>"
         "<li><i class=\"starved\"></i>no core</li></ul>";
}

std::string phases(const Report& report) {
  constexpr std::string_view kNote =
      "Mean of all ranks and steps, warm-up aside; the shares sum to the whole step, checkpoints and evaluation "
      "included.";
  const std::vector<PhaseRow> rows = phase_rows(report);
  if (rows.empty()) return section("Where a step goes", kNote, fmt::format("<p>{}</p>", kNotMeasured));
  const double total = total_seconds(rows);
  const TimeUnit unit = unit_for(total);
  double most = 0.0, sum = 0.0;
  for (const PhaseRow& row : rows) {
    most = std::max(most, row.share);
    sum += row.share;
  }
  std::string html = stack(rows) + fmt::format(
                                       "<table class=\"phases\"><thead><tr><th>phase</th><th class=\"n\">{} a step</th>"
                                       "<th class=\"n\">share</th><th></th></tr></thead><tbody>\n",
                                       unit.name);
  for (const PhaseRow& row : rows) {
    const std::string bar = row.share > 0 ? fmt::format("<span class=\"bar {}\" style=\"width:{:.2f}%\"></span>",
                                                        row.kind, 100 * row.share / most)
                                          : "";
    html +=
        fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"bars\">{}</td></tr>\n",
                    row.name, in_unit(row.seconds, unit), row.shown_share, bar);
  }
  html += fmt::format("<tr class=\"sum\"><td>sum</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td></td></tr>",
                      in_unit(total, unit), percent(sum));
  return section("Where a step goes", kNote, html + "</tbody></table>");
}

std::string bubble(const Report& report) {
  if (!report.bubble_measured && !report.bubble_ideal) return "";
  return fmt::format("<p class=\"note\">Pipeline bubble: {}.</p>", escaped(bubble_line(report)));
}

std::string communication(const Report& report) {
  constexpr std::string_view kNote =
      "What training waits for, not what runs beside computation. Waiting is for others to arrive: their delay, not "
      "the "
      "network's; it is told apart from transferring where the trace has events.";
  const std::vector<Exposed>& rows = report.exposed;
  if (rows.empty()) return section("Exposed communication", kNote, fmt::format("<p>{}</p>", kNotMeasured));
  double most = 0.0;
  for (const Exposed& row : rows) most = std::max(most, row.seconds);
  const TimeUnit unit = unit_for(most);
  std::string html = fmt::format(
      "<table><thead><tr><th>group</th><th class=\"n\">{0} a step</th><th class=\"n\">share</th><th "
      "class=\"n\">waiting, "
      "{0}</th><th class=\"n\">transferring, {0}</th></tr></thead><tbody>\n",
      unit.name);
  for (const Exposed& row : rows) {
    html += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td></tr>\n",
        trace::name_of(row.group), in_unit(row.seconds, unit), percent(row.share), in_unit(row.waiting, unit),
        in_unit(row.transferring, unit));
  }
  return section("Exposed communication", kNote, html + "</tbody></table>" + bubble(report));
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

double excess_key(const RankRow& row) {
  return row.excess && std::isfinite(*row.excess) ? *row.excess : -std::numeric_limits<double>::infinity();
}

// About what a row of the table takes.
std::size_t bytes_of(const RankRow& row) { return 250 + escaped(shown_host(row.host)).size(); }

// In the order of ranks; if there are too many, those with the most excess.
std::vector<const RankRow*> shown_ranks(const Report& report) {
  std::vector<const RankRow*> rows;
  std::size_t bytes = 0;
  for (const RankRow& row : report.rank_rows) {
    rows.push_back(&row);
    bytes += bytes_of(row);
  }
  if (rows.size() <= kMostRankRows && bytes <= kMostRankBytes) return rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RankRow* a, const RankRow* b) { return excess_key(*a) > excess_key(*b); });
  std::size_t count = 0, used = 0;
  while (count < std::min(rows.size(), kMostRankRows) && used + bytes_of(*rows[count]) <= kMostRankBytes)
    used += bytes_of(*rows[count++]);
  rows.resize(count);
  return rows;
}

std::string number_cell(const std::optional<double>& value, const std::string& shown) {
  return fmt::format("<td class=\"n\"{}>{}</td>", sort_value(value.value_or(std::nan(""))),
                     value ? shown : kNotMeasured);
}

std::string rank_row(const RankRow& row, const TimeUnit& unit, bool named) {
  const auto measured = [&row](double value) { return row.steps > 0 ? std::optional(value) : std::nullopt; };
  return fmt::format(
      "<tr{}><td class=\"n\">{}</td><td class=\"host\">{}</td><td>{}</td><td class=\"n\">{}</td>{}{}{}{}</tr>\n",
      named ? " class=\"named\"" : "", row.rank, escaped(shown_host(row.host)), coordinates(row.at), row.steps,
      number_cell(measured(row.own_seconds), in_unit(row.own_seconds, unit)),
      number_cell(row.excess, signed_percent_of(row.excess)),
      number_cell(measured(row.communication_seconds), in_unit(row.communication_seconds, unit)),
      number_cell(measured(row.starved_share), percent(row.starved_share)));
}

std::string ranks(const Report& report) {
  const std::vector<const RankRow*> rows = shown_ranks(report);
  if (rows.empty()) return "";
  double most = 0.0;
  for (const RankRow* row : rows) most = std::max(most, row->own_seconds);
  const TimeUnit unit = unit_for(most);
  std::string html = fmt::format(
      "<table class=\"sortable\"><thead><tr><th class=\"n\">rank</th><th>host</th><th>(dp, pp, tp)</th><th class=\"n\">"
      "steps</th><th class=\"n\">own work, {0}</th><th class=\"n\">over its peers</th><th class=\"n\">communication, "
      "{0}"
      "</th><th class=\"n\">no core</th></tr></thead><tbody>\n",
      unit.name);
  for (const RankRow* row : rows) {
    const bool named = std::any_of(report.stragglers.begin(), report.stragglers.end(),
                                   [row](const Straggler& s) { return s.rank == row->rank; });
    html += rank_row(*row, unit, named);
  }
  html = fmt::format("<details{}><summary>{} ranks</summary><div class=\"scroll\">{}</tbody></table></div></details>",
                     rows.size() <= kOpenRankRows ? " open" : "", rows.size(), html);
  std::string note =
      "Own work: the median of a training step's computation, waiting and lost cores aside. Communication: the mean of "
      "a "
      "step, waiting included, so who waits most is a victim and who waits least may be the cause.";
  if (rows.size() < report.rank_rows.size())
    note += fmt::format(" Shown are the {} ranks with the most excess of {}.", rows.size(), report.rank_rows.size());
  return section("Ranks", note, html);
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

std::string footer() {
  return fmt::format(
      "<footer>convoy-profile {}. docs/profile.md has the formula of each number. Ranks are compared by their own work "
      "and "
      "aligned by step number, never by clock.</footer>\n",
      escaped(version()));
}

}  // namespace

std::string report_html(const Report& report) {
  std::string html = head(report) + "<body>\n<main>\n" + title(report) + verdict(report) + tiles(report);
  html += stragglers(report) + heat_map(report);
  html += "<div class=\"pair\"><div>" + phases(report) + "</div><div>" + communication(report) + how_to_read() +
          "</div></div>\n";
  html += curves(report) + ranks(report) + incomplete(report) + footer();
  return html + fmt::format("</main>\n<script>\n{}</script>\n</body>\n</html>\n", kPageScript);
}

}  // namespace convoy::analysis
