// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "libcore/analysis/display.h"
#include "libcore/analysis/report_numbers.h"
#include "libcore/analysis/report_writers.h"
#include "tests/unit/analysis/made_report.h"

namespace convoy::analysis {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kColumns = 100;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// "nan", "inf", "-nan" as words; "information" is none.
bool has_no_number_for(const std::string& text) {
  return std::regex_search(text, std::regex("(^|[^a-z])-?(nan|inf)([^a-z]|$)", std::regex::icase));
}

TEST(ReportText, SaysWhoWhereWhatAndHowMuch) {
  const std::string text = report_text(made_report(), kColumns);
  EXPECT_THAT(text, HasSubstr("runs/first, started 2026-11-30 14:02:11 UTC"));
  EXPECT_THAT(text, HasSubstr("8 = 2 data x 2 pipeline x 2 tensor parallel, on 1 host"));
  EXPECT_THAT(text, HasSubstr("40, of them 2 of warm-up left out"));
  EXPECT_THAT(text, HasSubstr("12.3 K tokens/s at the median step"));
  EXPECT_THAT(text, HasSubstr("31.2 % of a peak of 0.1 TFLOP/s a rank; FLOPs: 6N + 12LCT a token"));
  EXPECT_THAT(text, HasSubstr("p50 200.0 ms, p95 210.0 ms, p99 220.0 ms, max 250.0 ms"));
  EXPECT_THAT(text, HasSubstr("25.0 % measured, 20.0 % of an ideal schedule"));
  EXPECT_TRUE(std::regex_search(
      text, std::regex(" 3  n01 +\\(0, 1, 1\\) +compute +forward +\\+50\\.1 % +29 in 11-40 +\\+12\\.5 % +9\\.1 %")))
      << text;
  EXPECT_THAT(text, HasSubstr("the run lost 9.1 %\n"));
}

TEST(ReportText, FitsOneScreen) {
  Report report = made_report();
  report.stragglers.assign(20, report.stragglers[0]);
  report.incomplete.assign(30, "rank 5: 41 of 100 steps, 13112 bytes at the end unreadable");
  report.abstained.assign(30, "ranks 0-7: host starved in forward, nobody is named");
  const std::string text = report_text(report, kColumns);
  EXPECT_LE(lines_of(text).size(), 45u) << text;
  for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), kColumns) << line;
  EXPECT_THAT(text, HasSubstr("and 15 more (--json lists all)"));
  EXPECT_THAT(text, HasSubstr("and 27 more (--json lists all)"));
}

TEST(ReportText, PhasesSumToTheStepAsPrinted) {
  Report report = made_report();
  // Three thirds, which rounded each alone would sum to 99.9 %.
  report.phases = {{trace::Phase::kOther, 0.1, 1.0 / 3},
                   {trace::Phase::kForward, 0.1, 1.0 / 3},
                   {trace::Phase::kBackward, 0.1, 1.0 / 3}};
  report.starved_share = 0.0;
  double sum = 0.0;
  for (const PhaseRow& row : phase_rows(report)) sum += std::stod(row.shown_share);
  EXPECT_NEAR(sum, 100.0, 1e-9);
  EXPECT_THAT(report_text(report, kColumns), HasSubstr("100.0 %"));
}

TEST(ReportText, CommunicationThatHasNoEventsIsNotSplit) {
  const std::string text = report_text(made_report(), kColumns);
  EXPECT_TRUE(std::regex_search(text, std::regex("tensor +20\\.00 +10\\.0 % +16\\.00 +4\\.00"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("data +10\\.00 +5\\.0 % +not measured +not measured"))) << text;
}

TEST(ReportText, SaysNotMeasuredOfWhatIsAbsent) {
  const std::string text = report_text(empty_report(), kColumns);
  EXPECT_FALSE(has_no_number_for(text)) << text;
  EXPECT_THAT(text, HasSubstr("throughput  not measured"));
  EXPECT_THAT(text, HasSubstr("MFU         not measured"));
  EXPECT_THAT(text, HasSubstr("step        not measured"));
  EXPECT_THAT(text, HasSubstr("phases      not measured"));
  EXPECT_THAT(text, HasSubstr("no step was recorded"));
}

TEST(ReportText, NeverPrintsWhatIsNoNumber) {
  Report report = made_report();
  const double nan = std::nan("");
  report.mfu = nan;
  report.tokens_per_second = nan;
  report.step_seconds = Quantiles{nan, nan, nan, INFINITY};
  report.phases[1].share = nan;
  report.stragglers[0].excess_percent = INFINITY;
  report.exposed[0].waiting = nan;
  EXPECT_FALSE(has_no_number_for(report_text(report, kColumns))) << report_text(report, kColumns);
}

TEST(ReportText, EscapesHostNamesAndAlignsThem) {
  Report report = made_report();
  report.stragglers.push_back(report.stragglers[0]);
  report.stragglers.push_back(report.stragglers[0]);
  report.stragglers[0].host = "\u8A08\u7B97-1";
  report.stragglers[1].host = "a\x1b[2Jb\n";
  report.stragglers[2].host = std::string(255, 'x');
  const std::string text = report_text(report, kColumns);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("a\\x1b[2Jb\\x0a"));
  std::vector<int> columns;
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(display_width(line), kColumns) << line;
    const std::size_t at = line.find("(0, 1, 1)");
    if (at != std::string::npos) columns.push_back(display_width(line.substr(0, at)));
  }
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_EQ(columns[0], columns[1]);
  EXPECT_EQ(columns[0], columns[2]);
}

TEST(ReportText, FitsANarrowTerminalWithEveryNumber) {
  const std::string text = report_text(made_report(), 80);
  for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), 80) << line;
  EXPECT_TRUE(
      std::regex_search(text, std::regex(" 3  n01 +compute +forward +\\+50\\.1 % +29 in 11-40 +\\+12\\.5 % +9\\.1 %")))
      << text;
}

TEST(ReportText, HasColourOnlyWhereAsked) {
  EXPECT_EQ(report_text(made_report(), kColumns).find('\x1b'), std::string::npos);
  const std::string coloured = report_text(made_report(), kColumns, true);
  EXPECT_THAT(coloured, HasSubstr("\x1b[1;31m"));
  EXPECT_EQ(std::regex_replace(coloured, std::regex("\x1b\\[[0-9;]*m"), ""), report_text(made_report(), kColumns));
}

TEST(ReportText, SaysThatARankWithoutPeersWasComparedWithItself) {
  Report report = made_report();
  EXPECT_THAT(report_text(report, kColumns), Not(HasSubstr("its own other steps")));
  report.stragglers[0].against_itself = true;
  EXPECT_THAT(report_text(report, kColumns), HasSubstr("* has no peers: against its own other steps"));
}

}  // namespace
}  // namespace convoy::analysis
