// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/trace_export.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "libcore/analysis/synth.h"
#include "libcore/trace/trace_writer.h"
#include "tests/support/tmp_dir.h"

namespace convoy::analysis {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kHostile = "n\"01\\<script>,\n\xff\t\xe2\x80\xae";

class Export : public testing::Test {
 protected:
  void synthesize_run() {
    synthesize({.tensor = 2, .data = 2, .steps = 6, .window_first = 2, .window_last = 3}, dir_ / "run");
  }
  json chrome(const ExportOptions& options = {}) {
    std::string text;
    summary_ = export_chrome(TraceSet::open(dir_ / "run"), options, [&text](std::string_view part) { text += part; });
    EXPECT_EQ(summary_.bytes, text.size());
    return json::parse(text)["traceEvents"];
  }
  std::string csv(const ExportOptions& options = {}) {
    std::string text;
    summary_ = export_csv(TraceSet::open(dir_ / "run"), options, [&text](std::string_view part) { text += part; });
    return text;
  }
  // A rank whose host is what nobody should call a host.
  void write_hostile_run() {
    trace::Header header;
    header.host = kHostile;
    std::filesystem::create_directories(dir_ / "run");
    trace::TraceWriter writer(dir_ / "run" / "x.trace", header);
    trace::StepRecord record{.step = 1, .start_ns = 5, .duration_ns = 1234567};
    record[trace::Phase::kForward] = {.wall_ns = 1234567, .delay_ns = 9};
    writer.append(std::span(&record, 1));
  }

  support::TmpDir dir_;
  ExportSummary summary_;
};

TEST_F(Export, ToChromeHasASliceForEachStepAndEvent) {
  synthesize_run();
  const json events = chrome();
  int steps = 0, calls = 0;
  std::set<int> processes, threads;
  for (const json& event : events) {
    if (event["ph"] != "X") continue;
    processes.insert(event["pid"].get<int>());
    threads.insert(event["tid"].get<int>());
    EXPECT_GE(event["ts"].get<double>(), 0.0);
    ++(event["cat"] == "step" ? steps : calls);
  }
  EXPECT_EQ(steps, 4 * 6);
  EXPECT_EQ(summary_.steps, 4 * 6);
  EXPECT_EQ(calls, 4 * 2 * (4 * (2 + 8) + 2 + 2)) << "as synth_test.cpp counts them";
  EXPECT_EQ(summary_.events, calls);
  EXPECT_EQ(processes, (std::set<int>{0, 1, 2, 3}));
  EXPECT_EQ(threads, (std::set<int>{0, 1})) << "overlapped reductions have a thread of their own";
}

TEST_F(Export, ToChromePutsEventsInsideTheirSteps) {
  synthesize_run();
  std::map<std::pair<int, int>, std::pair<double, double>> bounds;
  const json events = chrome();
  for (const json& event : events) {
    if (event["ph"] != "X" || event["cat"] != "step") continue;
    const int step = std::stoi(event["name"].get<std::string>().substr(5));
    const double start = event["ts"];
    bounds[{event["pid"].get<int>(), step}] = {start, start + event["dur"].get<double>()};
  }
  for (const json& event : events) {
    if (event["ph"] != "X" || event["cat"] == "step") continue;
    const auto& [begin, end] = bounds.at({event["pid"].get<int>(), event["args"]["step"].get<int>()});
    const double start = event["ts"];
    EXPECT_GE(start, begin - 1e-3);
    EXPECT_LE(start + event["dur"].get<double>(), end + 1e-3);
  }
}

TEST_F(Export, WritesOnlyWhatIsAskedFor) {
  synthesize_run();
  const json events = chrome({.range = {.first = 3, .last = 4}, .ranks = {1, 3}});
  std::set<int> processes, steps;
  for (const json& event : events) {
    if (event["ph"] == "X") processes.insert(event["pid"].get<int>());
    if (event["ph"] == "X" && event["cat"] != "step") steps.insert(event["args"]["step"].get<int>());
  }
  EXPECT_EQ(processes, (std::set<int>{1, 3}));
  EXPECT_EQ(steps, (std::set<int>{3}));
  EXPECT_EQ(summary_.steps, 4);
}

TEST_F(Export, StopsAtTheSizeThatIsAllowed) {
  synthesize_run();
  chrome();
  const ExportSummary whole = summary_;
  const json events = chrome({.most_bytes = 8000});
  EXPECT_LT(summary_.bytes, 8010u);
  EXPECT_GT(summary_.left_out, 0);
  EXPECT_EQ(summary_.steps + summary_.events + summary_.left_out, whole.steps + whole.events);
  csv({.most_bytes = 2000});
  EXPECT_LT(summary_.bytes, 2000u);
  EXPECT_EQ(summary_.steps + summary_.left_out, 4 * 6);
}

TEST_F(Export, ToCsvHasARowForEachStepAndRankWhosePhasesSum) {
  synthesize_run();
  std::istringstream lines(csv());
  std::string line;
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr("step,rank,host,tp,pp,dp,attempt,start_ns,duration_ns,"));
  int rows = 0;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(fields, cell, ',');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 12 + 2 * trace::kPhases) << line;
    EXPECT_EQ(cells[0], std::to_string(rows / 4 + 1));
    EXPECT_EQ(cells[1], std::to_string(rows % 4));
    std::uint64_t sum = 0;
    for (std::size_t i = 12; i < cells.size(); i += 2) sum += std::stoull(cells[i]);
    EXPECT_EQ(cells[8], std::to_string(sum));
    ++rows;
  }
  EXPECT_EQ(rows, 24);
}

TEST_F(Export, SurvivesHostileHostNames) {
  write_hostile_run();
  const json events = chrome();
  const std::string name = events.at(1)["args"]["name"];
  EXPECT_THAT(name, HasSubstr("n\"01\\<script>,\\x0a"));
  EXPECT_FALSE(summary_.clocks_are_aligned);
  const std::string table = csv();
  EXPECT_THAT(table, HasSubstr("\r\n1,0,\"n\"\"01\\<script>,\n"));
  EXPECT_THAT(table, HasSubstr(",1234567,9,"));
}

}  // namespace
}  // namespace convoy::analysis
