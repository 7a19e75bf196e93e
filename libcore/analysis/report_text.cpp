// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "libcore/analysis/display.h"
#include "libcore/analysis/report_numbers.h"
#include "libcore/analysis/report_writers.h"
#include "libcore/analysis/text_table.h"

namespace convoy::analysis {
namespace {

constexpr int kLabelColumns = 12;
constexpr int kWideColumns = 96;  // below, coordinates are left to --json
// What one screen has room for; --json has all.
constexpr std::size_t kMostStragglers = 5;
constexpr std::size_t kMostSentences = 3;

constexpr std::string_view kBold = "\x1b[1m", kRed = "\x1b[1;31m", kGreen = "\x1b[1;32m", kYellow = "\x1b[33m",
                           kDim = "\x1b[2m", kPlain = "\x1b[0m";

class Screen {
 public:
  Screen(int columns, bool colour) : columns_(std::max(80, columns)), colour_(colour) {}

  void line(std::string_view text, std::string_view colour = {}) {
    text_ +=
        colour_ && !colour.empty() && !text.empty() ? fmt::format("{}{}{}", colour, text, kPlain) : std::string(text);
    text_ += '\n';
  }
  void labelled(std::string_view label, std::string_view text, std::string_view colour = {}) {
    const std::vector<std::string> lines = wrapped(text, columns_ - kLabelColumns);
    for (std::size_t i = 0; i < lines.size(); ++i)
      line(padded_right(i == 0 ? label : "", kLabelColumns) + lines[i], colour);
  }
  // The first line is the titles'.
  void table(const std::vector<TextColumn>& titles, const std::vector<std::vector<std::string>>& rows,
             std::string_view colour = {}) {
    const std::vector<std::string> lines = table_lines(titles, rows, columns_);
    line(lines.front(), kDim);
    for (std::size_t i = 1; i < lines.size(); ++i) line(lines[i], colour);
  }
  void sentences(std::string_view label, const std::vector<std::string>& all, std::string_view colour) {
    const std::size_t shown = all.size() > kMostSentences + 1 ? kMostSentences : all.size();
    for (std::size_t i = 0; i < shown; ++i) labelled(i == 0 ? label : "", printable(all[i]), colour);
    if (shown < all.size()) labelled("", fmt::format("and {} more (--json lists all)", all.size() - shown), colour);
  }
  int columns() const { return columns_; }
  std::string text() const { return text_; }

 private:
  int columns_;
  bool colour_;
  std::string text_;
};

// Eighths of a block, as bars of text have.
std::string bar(double share, int columns) {
  if (!(share > 0)) return "";
  static constexpr std::string_view kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<int>(std::lround(std::min(share, 1.0) * columns * 8));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  return text + std::string(eighths == 0 ? kParts[1] : kParts[eighths % 8]);
}

std::string run_line(const Report& report) {
  std::string line = printable(report.run);
  if (!report.started.empty()) line += ", started " + printable(report.started);
  return line;
}

std::string step_line(const Report& report) {
  if (!report.step_seconds) return kNotMeasured;
  const Quantiles& q = *report.step_seconds;
  const TimeUnit unit = unit_for(q.p50);
  return fmt::format("p50 {}, p95 {}, p99 {}, max {}", with_unit(q.p50, unit), with_unit(q.p95, unit),
                     with_unit(q.p99, unit), with_unit(q.max, unit));
}

void add_head(Screen& screen, const Report& report) {
  const std::string hosts = place_line(report);
  screen.labelled("run", run_line(report));
  screen.labelled("ranks", layout_line(report) + (hosts.empty() ? "" : ", on " + hosts));
  screen.labelled("steps", steps_line(report));
  screen.labelled("throughput",
                  tokens_rate(report.tokens_per_second) + (report.tokens_per_second ? " at the median step" : ""));
  screen.labelled("MFU", printable(mfu_line(report)));
  screen.labelled("step", step_line(report));
}

void add_phases(Screen& screen, const Report& report) {
  const std::vector<PhaseRow> rows = phase_rows(report);
  screen.line("");
  if (rows.empty()) return screen.labelled("phases", kNotMeasured);
  const double total = total_seconds(rows);
  const TimeUnit unit = unit_for(total);
  const double most = std::max_element(rows.begin(), rows.end(), [](const PhaseRow& a, const PhaseRow& b) {
                        return a.share < b.share;
                      })->share;
  const int room = std::max(10, screen.columns() - 54);
  std::vector<std::vector<std::string>> cells;
  double sum = 0.0;
  for (const PhaseRow& row : rows) {
    sum += row.share;
    cells.push_back(
        {row.name, in_unit(row.seconds, unit), row.shown_share, bar(most > 0 ? row.share / most : 0.0, room)});
  }
  cells.push_back({"sum", in_unit(total, unit), percent(sum), ""});
  screen.table({{"phase"}, {fmt::format("{} a step", unit.name), true}, {"of a step", true}, {""}}, cells);
}

void add_communication(Screen& screen, const Report& report) {
  const std::vector<Exposed>& exposed = report.exposed;
  screen.line("");
  if (exposed.empty()) return screen.labelled("exposed", "communication " + std::string(kNotMeasured));
  double most = 0.0;
  for (const Exposed& row : exposed) most = std::max(most, row.seconds);
  const TimeUnit unit = unit_for(most);
  std::vector<std::vector<std::string>> cells;
  for (const Exposed& row : exposed) {
    cells.push_back({std::string(trace::name_of(row.group)), in_unit(row.seconds, unit), percent(row.share),
                     in_unit(row.waiting, unit), in_unit(row.transferring, unit)});
  }
  screen.table({{"exposed communication"},
                {fmt::format("{} a step", unit.name), true},
                {"of training", true},
                {fmt::format("waiting, {}", unit.name), true},
                {fmt::format("transferring, {}", unit.name), true}},
               cells);
}

void add_bubble(Screen& screen, const Report& report) {
  if (!report.bubble_measured && !report.bubble_ideal) return;
  screen.labelled("bubble", bubble_line(report));
}

std::vector<TextColumn> straggler_titles(bool narrow) {
  std::vector<TextColumn> titles = {{"straggler", true}, {"host", false, true}, {"dp, pp, tp"}, {"cause"}, {"phase"}};
  if (narrow) titles.erase(titles.begin() + 2);
  titles.insert(titles.end(),
                {{"excess", true}, {"steps", true}, {narrow ? "of step" : "of the step", true}, {"lost", true}});
  return titles;
}

std::vector<std::string> straggler_cells(const Straggler& s, bool narrow) {
  std::vector<std::string> cells = {fmt::format("{}", s.rank), printable(s.host), coordinates(s.at), name_of(s.cause),
                                    spelled(s.phase)};
  if (narrow) cells.erase(cells.begin() + 2);
  cells.insert(cells.end(), {signed_percent(s.excess_percent) + (s.against_itself ? " *" : ""), affected_steps(s),
                             signed_percent(s.step_excess_percent), percent(s.lost_percent / 100)});
  return cells;
}

void add_stragglers(Screen& screen, const Report& report) {
  screen.line("");
  if (report.stragglers.empty()) return screen.labelled("stragglers", "none named");
  const bool narrow = screen.columns() < kWideColumns;
  const std::size_t shown = std::min(report.stragglers.size(), kMostStragglers);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < shown; ++i) rows.push_back(straggler_cells(report.stragglers[i], narrow));
  screen.table(straggler_titles(narrow), rows, kRed);
  if (shown < report.stragglers.size())
    screen.line(fmt::format("and {} more (--json lists all)", report.stragglers.size() - shown), kRed);
  if (std::any_of(report.stragglers.begin(), report.stragglers.end(),
                  [](const Straggler& s) { return s.against_itself; }))
    screen.line("* has no peers: against its own other steps", kDim);
}

void add_verdict(Screen& screen, const Report& report) {
  const bool healthy = report.stragglers.empty() && report.abstained.empty() && report.judged;
  screen.line("");
  screen.sentences("abstained", report.abstained, kYellow);
  screen.sentences("incomplete", report.incomplete, kYellow);
  screen.sentences("verdict", {report.verdict.empty() ? kNotMeasured : report.verdict},
                   !report.stragglers.empty() ? kRed
                   : healthy                  ? kGreen
                                              : kBold);
}

}  // namespace

std::string report_text(const Report& report, int columns, bool colour) {
  Screen screen(columns, colour);
  add_head(screen, report);
  add_phases(screen, report);
  add_communication(screen, report);
  add_bubble(screen, report);
  add_stragglers(screen, report);
  add_verdict(screen, report);
  return screen.text();
}

}  // namespace convoy::analysis
