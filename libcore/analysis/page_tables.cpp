// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/page_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "libcore/analysis/markup.h"
#include "libcore/analysis/report_numbers.h"

namespace convoy::analysis {
namespace {

// Beyond this a table is no longer read; the page stays below its 2 MB.
constexpr std::size_t kMostRankRows = 1024;
constexpr std::size_t kMostStragglers = 100;
constexpr std::size_t kMostRankBytes = 280'000;
constexpr std::size_t kOpenRankRows = 64;

std::string straggler_row(const Straggler& s) {
  return fmt::format(
      "<tr><td class=\"n\">{}</td><td class=\"host\">{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td>"
      "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
      s.rank, escaped(shown_host(s.host)), coordinates(s.at), name_of(s.cause), spelled(s.phase),
      signed_percent(s.excess_percent), affected_steps(s), signed_percent(s.step_excess_percent),
      percent(s.lost_percent / 100), compared_with(s));
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

std::string bubble(const Report& report) {
  if (!report.bubble_measured && !report.bubble_ideal) return "";
  return fmt::format("<p class=\"note\">Pipeline bubble: {}.</p>", escaped(bubble_line(report)));
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

}  // namespace

std::string straggler_section(const Report& report) {
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

std::string phase_section(const Report& report) {
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

std::string communication_section(const Report& report) {
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

std::string rank_section(const Report& report) {
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

}  // namespace convoy::analysis
