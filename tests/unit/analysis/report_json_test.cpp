// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "libcore/analysis/report_writers.h"
#include "tests/unit/analysis/made_report.h"

namespace convoy::analysis {
namespace {

using nlohmann::json;

const std::vector<std::string> kKeys = {"version",
                                        "ranks",
                                        "steps",
                                        "step_seconds",
                                        "tokens_per_second",
                                        "mfu",
                                        "phases",
                                        "exposed_communication",
                                        "bubble",
                                        "stragglers",
                                        "what_if",
                                        "incomplete",
                                        "verdict"};
const std::vector<std::string> kStragglerKeys = {
    "rank", "host", "cause", "phase", "excess_percent", "steps_affected", "step_excess_percent", "lost_percent"};

TEST(ReportJson, HasEveryKeyThatScriptsRead) {
  const json full = json::parse(report_json(made_report())), empty = json::parse(report_json(empty_report()));
  for (const std::string& key : kKeys) {
    EXPECT_TRUE(full.contains(key)) << key;
    EXPECT_TRUE(empty.contains(key)) << key;
  }
  for (const std::string& key : kStragglerKeys) EXPECT_TRUE(full["stragglers"][0].contains(key)) << key;
  for (const char* key : {"tp", "pp", "dp", "share"}) EXPECT_TRUE(empty["exposed_communication"].contains(key)) << key;
  EXPECT_EQ(full["version"], 1);
}

TEST(ReportJson, HasTheNumbersOfTheReport) {
  const json report = json::parse(report_json(made_report()));
  EXPECT_EQ(report["ranks"], 8);
  EXPECT_EQ(report["steps"], 40);
  EXPECT_EQ(report["step_seconds"]["p50"], 0.2);
  EXPECT_EQ(report["step_seconds"]["max"], 0.25);
  EXPECT_EQ(report["mfu"], 0.312);
  EXPECT_EQ(report["phases"]["forward"]["mean_seconds"], 0.05);
  EXPECT_EQ(report["phases"]["backward"]["share"], 0.5);
  EXPECT_EQ(report["exposed_communication"]["tp"], 0.02);
  EXPECT_EQ(report["exposed_communication"]["tp_waiting"], 0.016);
  EXPECT_EQ(report["exposed_communication"]["tp_transferring"], 0.004);
  EXPECT_EQ(report["exposed_communication"]["dp"], 0.01);
  EXPECT_TRUE(report["exposed_communication"]["dp_waiting"].is_null());
  EXPECT_TRUE(report["exposed_communication"]["pp"].is_null());
  EXPECT_NEAR(report["exposed_communication"]["share"].get<double>(), 0.15, 1e-12);
  EXPECT_EQ(report["bubble"]["measured"], 0.25);
  const json& slow = report["stragglers"][0];
  EXPECT_EQ(slow["rank"], 3);
  EXPECT_EQ(slow["host"], "n01");
  EXPECT_EQ(slow["cause"], "compute");
  EXPECT_EQ(slow["phase"], "forward");
  EXPECT_EQ(slow["excess_percent"], 50.1);
  EXPECT_EQ(slow["steps_affected"], 29);
  EXPECT_EQ(slow["step_excess_percent"], 12.5);
  EXPECT_EQ(slow["lost_percent"], 9.1);
  EXPECT_EQ(slow["tp"], 1);
  EXPECT_EQ(slow["dp"], 0);
}

TEST(ReportJson, IsNullWhereNothingWasMeasured) {
  const json report = json::parse(report_json(empty_report()));
  for (const char* key : {"step_seconds", "tokens_per_second", "mfu", "what_if", "starved_share"})
    EXPECT_TRUE(report[key].is_null()) << key;
  for (const char* key : {"tp", "pp", "dp", "share"})
    EXPECT_TRUE(report["exposed_communication"][key].is_null()) << key;
  for (const char* key : {"measured", "ideal"}) EXPECT_TRUE(report["bubble"][key].is_null()) << key;
  EXPECT_EQ(report["stragglers"], json::array());
  EXPECT_EQ(report["incomplete"], json::array());
}

TEST(ReportJson, IsJsonWhateverTheHostIsCalledAndTheNumbersAre) {
  Report report = made_report();
  report.stragglers[0].host = "a\"b\\c\n<script>\xff\u8A08";
  report.mfu = std::nan("");
  report.tokens_per_second = INFINITY;
  report.phases[0].mean_seconds = std::nan("");
  const json parsed = json::parse(report_json(report));
  EXPECT_EQ(parsed["stragglers"][0]["host"], "a\"b\\c\n<script>\uFFFD\u8A08");
  EXPECT_TRUE(parsed["mfu"].is_null());
  EXPECT_TRUE(parsed["tokens_per_second"].is_null());
  EXPECT_TRUE(parsed["phases"]["other"]["mean_seconds"].is_null());
}

}  // namespace
}  // namespace convoy::analysis
