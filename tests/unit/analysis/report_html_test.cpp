// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "libcore/analysis/axis.h"
#include "libcore/analysis/markup.h"
#include "libcore/analysis/page_chart.h"
#include "libcore/analysis/page_heat_map.h"
#include "libcore/analysis/report_writers.h"
#include "tests/unit/analysis/made_report.h"

namespace convoy::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kMostBytes = 2'000'000;

// What a reader sees: without style, script and tags.
std::string visible(std::string page) {
  for (const std::string tag : {"style", "script"}) {
    for (std::size_t at = page.find("<" + tag); at != std::string::npos; at = page.find("<" + tag))
      page.erase(at, page.find("</" + tag + ">", at) - at + tag.size() + 3);
  }
  std::string text;
  bool inside = false;
  for (const char c : page) {
    inside = c == '<' || (inside && c != '>');
    if (!inside) text += c == '>' ? ' ' : c;
  }
  return text;
}

bool has_no_number_for(const std::string& text) {
  return std::regex_search(text, std::regex("(^|[^a-z])-?(nan|inf)([^a-z]|$)", std::regex::icase));
}

TEST(ReportHtml, HasItsTextsAndTablesWithoutItsScript) {
  const std::string text = visible(report_html(made_report()));
  for (const char* part : {"runs/first", "8 = 2 data x 2 pipeline x 2 tensor parallel", "rank 3 on n01 computes",
                           "+50.1 %", "29 in 11-40", "backward", "50.0 %", "100.0 %", "tensor communication",
                           "not measured", "25.0 % measured, 20.0 % of an ideal schedule", "Loss, nats a token",
                           "Throughput, tokens a second", "Learning rate", "12.3 K", "31.2 %"})
    EXPECT_THAT(text, HasSubstr(part)) << part;
}

TEST(ReportHtml, NeedsNothingFromOutside) {
  const std::string page = report_html(made_report());
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  for (const char* outside : {"http:", "https:", "//cdn", "@import", "url(", "src="})
    EXPECT_THAT(page, Not(HasSubstr(outside))) << outside;
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
}

TEST(ReportHtml, EscapesEveryTextFromOutside) {
  Report report = made_report();
  const std::string hostile = "n\"1'</script><script>alert(1)</script><img src=x>&\n\x1b";
  report.run = report.started = report.verdict = report.header.flops_convention = hostile;
  report.incomplete = report.abstained = {hostile};
  for (Straggler& straggler : report.stragglers) straggler.host = hostile;
  for (RankRow& row : report.rank_rows) row.host = hostile;
  const std::string page = report_html(report);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_THAT(page, HasSubstr("n&quot;1&#39;&lt;/script&gt;"));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>")) << "inside the script's data";
  // One script of data, one of code.
  const std::string closing = "</script>";
  int scripts = 0;
  for (std::size_t at = page.find(closing); at != std::string::npos; at = page.find(closing, at + 1)) ++scripts;
  EXPECT_EQ(scripts, 2);
}

TEST(ReportHtml, SaysNotMeasuredOfWhatIsAbsent) {
  const std::string page = report_html(empty_report());
  EXPECT_FALSE(has_no_number_for(visible(page)));
  EXPECT_THAT(visible(page), HasSubstr("not measured"));
  EXPECT_THAT(page, Not(HasSubstr("<canvas")));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
}

TEST(ReportHtml, SaysNotMeasuredOfARankWithoutAStep) {
  Report report = made_report();
  report.stragglers.clear();
  report.rank_rows = {{5, "n01", {2, 0, 1}, 0, 0.0, {}, 0.0, 0.0}};
  const std::string text = visible(report_html(report));
  const std::string row = text.substr(text.find("(1, 0, 2)"));
  EXPECT_TRUE(
      std::regex_search(row, std::regex("^\\(1, 0, 2\\) +0 +not measured +not measured +not measured +not measured")))
      << row.substr(0, 200);
}

TEST(ReportHtml, NeverPrintsWhatIsNoNumber) {
  Report report = made_report();
  const double nan = std::nan("");
  report.mfu = report.tokens_per_second = nan;
  report.step_seconds = Quantiles{nan, nan, nan, nan};
  report.phases[2].mean_seconds = nan;
  report.starved_share = nan;
  report.exposed[0].waiting = INFINITY;
  report.stragglers[0].excess_percent = nan;
  report.rank_rows[0].own_seconds = nan;
  report.rank_rows[1].excess = nan;
  report.loss.values.assign(report.loss.values.size(), nan);
  report.throughput.values[3] = INFINITY;
  report.heat_map.cells.assign(report.heat_map.cells.size(), std::numeric_limits<float>::quiet_NaN());
  const std::string page = report_html(report);
  EXPECT_FALSE(has_no_number_for(visible(page)));
  EXPECT_FALSE(std::regex_search(page, std::regex("(=\"|[:,%])-?(nan|inf)[\",%]"))) << "in an attribute or in data";
}

// 256 x 2,000 cells each of their own; 1,024 x 10,000 as the analysis thins them.
TEST(ReportHtml, StaysBelowTwoMegabytes) {
  struct Size {
    int ranks, ranks_per_row, columns, steps_per_column;
  };
  for (const Size size : {Size{256, 1, 2000, 1}, Size{1024, 2, 2000, 5}}) {
    Report report = made_report();
    report.ranks = size.ranks;
    const int rows = size.ranks / size.ranks_per_row;
    report.heat_map = {
        1, size.columns * size.steps_per_column, size.steps_per_column, size.ranks_per_row, rows, size.columns, {}};
    report.heat_map.cells.assign(static_cast<std::size_t>(rows) * static_cast<std::size_t>(size.columns), 0.123F);
    report.rank_rows.clear();
    for (int rank = 0; rank < size.ranks; ++rank)  // names of the worst kind: long, and each quote is six letters
      report.rank_rows.push_back(
          {rank, std::to_string(rank) + std::string(250, '"'), {}, 10000, 0.1, 0.01, 0.05, 0.01});
    Straggler named = report.stragglers[0];
    named.host = std::string(255, '<');
    report.stragglers.assign(300, named);
    report.incomplete.assign(2000, "rank 5: 41 of 100 steps, 13112 bytes at the end unreadable");
    EXPECT_LT(report_html(report).size(), kMostBytes) << size.ranks << " ranks";
  }
}

TEST(ExcessCode, KeepsWhatACellSaysToAFewPercent) {
  EXPECT_EQ(excess_code(std::numeric_limits<float>::quiet_NaN()), 0);
  EXPECT_EQ(excess_code(-0.3F), 1);
  EXPECT_EQ(excess_code(0.0F), 1);
  EXPECT_EQ(excess_code(std::numeric_limits<float>::infinity()), 255);
  EXPECT_EQ(excess_code(1e30F), 255);
  EXPECT_EQ(excess_of(1), 0.0);
  for (const float excess : {0.01F, 0.05F, 0.2F, 0.5F, 1.0F, 10.0F, 60.0F}) {
    // Half a step of a twenty-fourth of a doubling of 5 % + excess.
    const double step = (0.05 + static_cast<double>(excess)) * (std::exp2(0.5 / 24) - 1) * 1.01;
    EXPECT_NEAR(excess_of(excess_code(excess)), static_cast<double>(excess), step) << excess;
  }
}

TEST(HeatMapScale, EndsWhereNamedRanksStandOut) {
  Report report = made_report();  // cells of 0.5 %, the named rank's of 50 %
  EXPECT_EQ(most_excess(report), 0.5);
  EXPECT_EQ(least_excess(report.heat_map), 0.005);
  report.heat_map.cells.assign(report.heat_map.cells.size(), 0.02F);
  EXPECT_EQ(most_excess(report), 0.1);
  // One cell of a long run does not take the colours from the rest.
  report.stragglers.clear();
  report.heat_map.cells[7] = 40.0F;
  EXPECT_EQ(most_excess(report), 0.1);
}

TEST(Base64, IsThatOfRfc4648) {
  const auto encoded = [](std::string_view text) {
    return base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
}

TEST(Axis, HasRoundTicks) {
  EXPECT_THAT(axis_of(0, 9, 4, true).ticks, ElementsAre(0, 5, 10));
  EXPECT_THAT(axis_of(3.2, 7.9, 4, true).ticks, ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(step_axis(1, 3, 5).ticks, ElementsAre(1, 2, 3)) << "no half steps";
  EXPECT_THAT(step_axis(5, 5, 5).ticks, ElementsAre(5));
  for (const Axis& axis : {axis_of(2, 2, 4, true), axis_of(0, 0, 4, true), axis_of(-1e-9, 1e300, 4, true),
                           axis_of(std::nan(""), 1, 4, true)}) {
    EXPECT_LT(axis.first, axis.last);
    EXPECT_GE(axis.ticks.size(), 2u);
    EXPECT_LE(axis.ticks.size(), 12u);
  }
}

TEST(Axis, LabelsTellTheTicksApart) {
  const auto labels = [](double first, double last) {
    const Axis axis = axis_of(first, last, 4, true);
    std::vector<std::string> all;
    for (const double tick : axis.ticks) all.push_back(tick_label(tick, axis));
    return all;
  };
  EXPECT_THAT(labels(0, 0.0003), ElementsAre("0", "1e-4", "2e-4", "3e-4"));
  EXPECT_THAT(labels(0, 210000), ElementsAre("0", "100 K", "200 K", "300 K"));
  EXPECT_THAT(labels(3.95, 4.35), ElementsAre("3.9", "4.0", "4.1", "4.2", "4.3", "4.4"));
  EXPECT_THAT(labels(0, 1500), ElementsAre("0", "500", "1000", "1500"));
}

TEST(ChartFigure, DrawsOneValueAsADotAndNoneNotAtAll) {
  Curve one{{7}, {3.5}}, none, torn{{1, 2, 3}, {1.0, std::nan(""), 2.0}};
  EXPECT_THAT(chart_figure({"Loss", &one, false, 7, 7, {}}), HasSubstr("<circle"));
  EXPECT_EQ(chart_figure({"Loss", &none, false, 1, 1, {}}), "");
  EXPECT_THAT(chart_figure({"Loss", &torn, false, 1, 3, {}}), HasSubstr("data-steps=\"1,3\""));
}

}  // namespace
}  // namespace convoy::analysis
