// SPDX-License-Identifier: Apache-2.0
// convoy-profile report as a user calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/apps/train_program.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class ProfileReport : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string make(const std::string& name, std::vector<std::string> options) const {
    std::vector<std::string> arguments = {"synth", "--out", path(name)};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const support::ProgramResult made = call("convoy-profile", arguments);
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return path(name);
  }
  // 8 ranks, one of them 40 % slower in its forward pass over the second half.
  std::string slow() const {
    return make("slow", {"--layout", "tp=2,dp=4", "--steps", "80", "--fault",
                         "slow:rank=3,factor=1.4,phase=forward,steps=41-80"});
  }
  std::string healthy() const { return make("healthy", {"--ranks", "8", "--steps", "60"}); }
  static support::ProgramResult report(const std::string& run, std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"report", run});
    return call("convoy-profile", options);
  }

  support::TmpDir folder_;
};

TEST_F(ProfileReport, NamesTheSlowRank) {
  const support::ProgramResult result = report(slow());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("8 = 4 data x 1 pipeline x 2 tensor parallel"));
  EXPECT_THAT(result.out, testing::ContainsRegex("  3  node-[^\n]*compute  *forward"));
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos) << "no colour into a file";
  EXPECT_LE(std::count(result.out.begin(), result.out.end(), '\n'), 45);
  EXPECT_EQ(result.err, "");
}

TEST_F(ProfileReport, AnswersScriptsInJson) {
  const json found = json::parse(report(slow(), {"--json"}).out);
  EXPECT_EQ(found["version"], 1);
  EXPECT_EQ(found["ranks"], 8);
  ASSERT_EQ(found["stragglers"].size(), 1u);
  EXPECT_EQ(found["stragglers"][0]["rank"], 3);
  EXPECT_EQ(found["stragglers"][0]["phase"], "forward");
  EXPECT_NEAR(found["stragglers"][0]["excess_percent"].get<double>(), 40.0, 4.0);
  double sum = found["starved_share"].get<double>();
  for (const auto& [name, phase] : found["phases"].items()) sum += phase["share"].get<double>();
  EXPECT_NEAR(sum, 1.0, 1e-6);
  EXPECT_EQ(json::parse(report(healthy(), {"--json"}).out)["stragglers"], json::array());
}

TEST_F(ProfileReport, FailsOnWhatItIsTold) {
  const std::string run = slow();
  const support::ProgramResult yes = report(run, {"--fail-on", "straggler>5%"});
  EXPECT_EQ(yes.exit_code, 6);
  EXPECT_THAT(yes.err, HasSubstr("--fail-on 'straggler>5%' holds: rank 3 on node-"));
  EXPECT_THAT(yes.out, HasSubstr("verdict")) << "the report is printed all the same";
  EXPECT_EQ(report(run, {"--fail-on", "straggler>90%"}).exit_code, 0);
  EXPECT_EQ(report(run, {"--fail-on", "straggler>90%", "--fail-on", "step_seconds.p50>1ms"}).exit_code, 6);
  EXPECT_EQ(report(healthy(), {"--fail-on", "straggler"}).exit_code, 0);
}

TEST_F(ProfileReport, RefusesAConditionThatItCannotJudge) {
  const std::string run = healthy();
  const support::ProgramResult unmeasured = report(run, {"--fail-on", "mfu<10%"});
  EXPECT_EQ(unmeasured.exit_code, 3);
  EXPECT_THAT(unmeasured.err, HasSubstr("--fail-on 'mfu<10%' cannot be judged: 'mfu' was not measured"));
  const support::ProgramResult misspelt = report(run, {"--fail-on", "stragler>5%"});
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("asks for 'stragler', which no report has; it has straggler, lost,"));
  EXPECT_EQ(misspelt.out, "");
  EXPECT_EQ(report(run, {"--fail-on", "straggler>5"}).exit_code, 2);
}

TEST_F(ProfileReport, LooksAtTheStepsAskedFor) {
  const json before = json::parse(report(slow(), {"--json", "--steps", "1-40"}).out);
  EXPECT_EQ(before["steps"], 40);
  EXPECT_EQ(before["stragglers"], json::array());
  const json none = json::parse(report(path("slow"), {"--json", "--steps", "500-600"}).out);
  EXPECT_TRUE(none["step_seconds"].is_null());
  EXPECT_EQ(none["stragglers"], json::array());
  EXPECT_EQ(report(path("slow"), {"--steps", "9-3"}).exit_code, 2);
}

TEST_F(ProfileReport, WritesAPageWholeOrNotAtAll) {
  const std::string run = slow();
  EXPECT_EQ(report(run, {"--html", path("page.html")}).exit_code, 0);
  const std::string page = support::content_of(path("page.html"));
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_THAT(page, HasSubstr("rank 3"));
  const support::ProgramResult refused = report(run, {"--html", path("no/such/page.html")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no/such/page.html"));
  EXPECT_THAT(folder_.names(), testing::UnorderedElementsAre("page.html", "slow"));
}

TEST_F(ProfileReport, TakesThePeakForTheModelFlopsUtilisation) {
  const std::string run = healthy();
  EXPECT_TRUE(json::parse(report(run, {"--json"}).out)["mfu"].is_null());
  const json with = json::parse(report(run, {"--json", "--peak-tflops", "200"}).out);
  const json twice = json::parse(report(run, {"--json", "--peak-tflops", "400"}).out);
  EXPECT_EQ(with["peak_tflops"], 200.0);
  EXPECT_GT(with["mfu"].get<double>(), 0.0);
  EXPECT_LT(with["mfu"].get<double>(), 1.0);
  EXPECT_NEAR(with["mfu"].get<double>(), 2 * twice["mfu"].get<double>(), 1e-12);
  EXPECT_EQ(report(run, {"--peak-tflops", "-1"}).exit_code, 2);
}

TEST_F(ProfileReport, SaysWhatIsWrongWithAFolder) {
  const support::ProgramResult missing = report(path("nowhere"));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("nowhere: no such run folder"));
  std::filesystem::create_directories(path("empty/traces"));
  const support::ProgramResult empty = report(path("empty"), {"--html", path("page.html")});
  EXPECT_EQ(empty.exit_code, 3);
  EXPECT_THAT(empty.err, HasSubstr("no traces"));
  EXPECT_FALSE(std::filesystem::exists(path("page.html")));
  folder_.write("noise/traces/rank-00000.a001.trace", std::string(70000, 'x'));
  const support::ProgramResult noise = report(path("noise"));
  EXPECT_EQ(noise.exit_code, 3);
  EXPECT_THAT(noise.err, Not(HasSubstr("internal error")));
}

// Ranks that died before they ended a step leave a header and no record.
TEST_F(ProfileReport, OfARunWithoutAStepSaysNotMeasured) {
  const std::string run = make("headers", {"--ranks", "4", "--steps", "3"});
  for (const auto& file : std::filesystem::directory_iterator(run + "/traces")) {
    if (file.path().extension() == ".trace")
      std::filesystem::resize_file(file.path(), 65536);
    else
      std::filesystem::remove(file.path());
  }
  const support::ProgramResult text = report(run, {"--html", path("page.html")});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("step        not measured"));
  const json found = json::parse(report(run, {"--json"}).out);
  EXPECT_EQ(found["ranks"], 4);
  EXPECT_EQ(found["steps"], 0);
  EXPECT_TRUE(found["tokens_per_second"].is_null());
  EXPECT_THAT(support::content_of(path("page.html")), HasSubstr("not measured"));
  EXPECT_EQ(report(run, {"--fail-on", "straggler>5%"}).exit_code, 3);
}

TEST_F(ProfileReport, ReadsTheFolderOfTheTracesItself) {
  const json whole = json::parse(report(healthy(), {"--json"}).out);
  const json alone = json::parse(report(path("healthy") + "/traces", {"--json"}).out);
  EXPECT_EQ(alone["step_seconds"], whole["step_seconds"]);
}

}  // namespace
}  // namespace convoy::apps
