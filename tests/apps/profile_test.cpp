// SPDX-License-Identifier: Apache-2.0
// convoy-profile synth, check, import and export as a user calls them.
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/apps/train_program.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Profile : public testing::Test {
 protected:
  support::ProgramResult profile(const std::vector<std::string>& arguments) const {
    return call("convoy-profile", arguments);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void synth(const std::string& name) const {
    const auto result = profile({"synth", "--out", path(name), "--layout", "tp=2,dp=2", "--steps", "10"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  // Ends with this code, says this in one message, and writes nothing to stdout.
  void expect_refusal(const std::vector<std::string>& arguments, int code, const std::string& message) const {
    const support::ProgramResult result = profile(arguments);
    EXPECT_EQ(result.exit_code, code) << testing::PrintToString(arguments);
    EXPECT_THAT(result.err, HasSubstr(message)) << testing::PrintToString(arguments);
    EXPECT_THAT(result.err, AllOf(StartsWith("convoy-profile"), HasSubstr("error: ")));
    EXPECT_EQ(result.out, "");
  }

  support::TmpDir folder_;
};

TEST_F(Profile, SynthMakesARunThatCheckFindsSound) {
  synth("run");
  const support::ProgramResult text = profile({"check", path("run")});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("sound: 4 files"));
  const json document = json::parse(profile({"check", path("run"), "--json"}).out);
  EXPECT_EQ(document["sound"], true);
  ASSERT_EQ(document["files"].size(), 4u);
  EXPECT_EQ(document["files"][3]["records"], 10);
  EXPECT_EQ(document["files"][3]["last_step"], 10);
}

TEST_F(Profile, SynthRefusesWhatItCannotMake) {
  const auto refuse = [this](std::vector<std::string> more, const std::string& message) {
    more.insert(more.begin(), {"synth", "--out", path("run")});
    expect_refusal(more, 2, message);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
  };
  refuse({"--ranks", "5", "--layout", "tp=4"}, "tp 4 x pp 1 x dp 1 are 4 ranks");
  refuse({"--layout", "tp=0"}, "has 'tp=0'");
  refuse({"--layout", "tp=2,tp=2"}, "names tp twice");
  refuse({"--layout", "ep=2"}, "has 'ep=2'");
  refuse({"--layout", "tp=200,dp=200"}, "--ranks: must be between 1 and 16384");
  refuse({"--fault", "slow:rank=8,factor=2,phase=data"}, "rank 8 does not exist; the layout has ranks 0 to 7");
  refuse({"--fault", "slow:rank=1,phase=data"}, "needs one of factor=1.2 and sleep=20ms");
  refuse({"--jitter", "60%"}, "must be between 0% and 50%");
  refuse({"--jitter", "much"}, "is no share");
  refuse({"--steps", "0"}, "must be between 1 and");
  refuse({"--step-time", "0"}, "must be between");
  refuse({"--trace-window", "4-1"}, "is no range of steps");
  expect_refusal({"synth"}, 2, "--out RUN is missing");
  synth("taken");
  expect_refusal({"synth", "--out", path("taken")}, 7, "exists; choose another folder");
}

TEST_F(Profile, CheckEndsWithThreeForWhatIsNotSound) {
  synth("run");
  std::filesystem::resize_file(folder_ / "run/traces/rank-00002.a001.trace", 66000);
  std::filesystem::remove(folder_ / "run/traces/rank-00001.a001.trace");
  const support::ProgramResult text = profile({"check", path("run")});
  EXPECT_EQ(text.exit_code, 3);
  EXPECT_THAT(text.out, AllOf(HasSubstr("rank-00002.a001.trace: "), HasSubstr("attempt 1: rank 1 of 4 wrote no trace"),
                              HasSubstr("not sound: ")));
  const support::ProgramResult document = profile({"check", path("run"), "--json"});
  EXPECT_EQ(document.exit_code, 3);
  EXPECT_EQ(json::parse(document.out)["sound"], false);
  expect_refusal({"check", path("absent")}, 2, "no such run folder");
  expect_refusal({"check", folder_.path().string()}, 3, "no traces");
}

TEST_F(Profile, ImportTakesRowsAndRefusesBadOnesByLine) {
  const std::string row = R"({"rank":0,"step":1,"kind":"phase","name":"data","start_ns":5,"duration_ns":5})"
                          "\n";
  const std::string good = folder_.write("good.jsonl", row + row).string();
  const std::string bad = folder_.write("bad.jsonl", row + "{\"rank\":\n").string();
  const support::ProgramResult result = profile({"import", "jsonl", good, "--out", path("run"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["repeated_rows"], 1);
  EXPECT_EQ(profile({"check", path("run")}).exit_code, 0);
  expect_refusal({"import", "jsonl", good, "--out", path("run")}, 7, "exists; choose another folder");
  expect_refusal({"import", "jsonl", bad, "--out", path("other")}, 3, "bad.jsonl': line 2: it is no JSON at byte");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "other"));
  const support::ProgramResult skipped = profile({"import", "jsonl", bad, "--out", path("other"), "--skip-bad-rows"});
  EXPECT_EQ(skipped.exit_code, 0);
  EXPECT_THAT(skipped.out, HasSubstr("1 bad row left out"));
  EXPECT_THAT(skipped.err, HasSubstr("line 2"));
  expect_refusal({"import", "csv", good, "--out", path("x")}, 2, "must be one of jsonl");
  expect_refusal({"import", "jsonl", path("absent"), "--out", path("x")}, 2, "no such file");
  expect_refusal({"import", "jsonl", folder_.write("empty", "").string(), "--out", path("x")}, 3, "no row in 0 lines");
}

TEST_F(Profile, ExportWritesDocumentsThatOthersParse) {
  synth("run");
  const support::ProgramResult chrome = profile({"export", path("run"), "--to", "chrome"});
  ASSERT_EQ(chrome.exit_code, 0) << chrome.err;
  EXPECT_GT(json::parse(chrome.out)["traceEvents"].size(), 40u);
  const support::ProgramResult csv =
      profile({"export", path("run"), "--to", "csv", "--steps", "3-4", "--ranks", "0-1", "--out", path("t.csv")});
  ASSERT_EQ(csv.exit_code, 0) << csv.err;
  const std::string table = support::content_of(folder_ / "t.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 1 + 2 * 2);
}

TEST_F(Profile, ExportEscapesWhatHostsAreCalled) {
  const std::string row =
      R"({"rank":0,"host":"</script>\"\n,\u202e","step":1,"kind":"phase","name":"data","start_ns":5,"duration_ns":5})";
  ASSERT_EQ(profile({"import", "jsonl", folder_.write("rows", row).string(), "--out", path("run")}).exit_code, 0);
  const json events = json::parse(profile({"export", path("run"), "--to", "chrome"}).out)["traceEvents"];
  EXPECT_THAT(events.dump(), HasSubstr("</script>\\\"\\\\x0a"));
  EXPECT_THAT(profile({"export", path("run"), "--to", "csv"}).out, HasSubstr(",\"</script>\"\"\n,"));
  EXPECT_THAT(profile({"check", path("run")}).out, AllOf(HasSubstr("</script>\"\\x0a"), HasSubstr("sound: 1 file")));
}

// A rename over /dev/null, which is what --out /dev/null by root would be, takes it from every other program.
TEST_F(Profile, ReplacesNoPipeOrDeviceByAFile) {
  synth("run");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", folder_ / "link");
  for (const char* name : {"pipe", "link"}) {
    expect_refusal({"export", path("run"), "--to", "csv", "--out", path(name)}, 7, "a device, a pipe or a socket");
    expect_refusal({"report", path("run"), "--html", path(name)}, 7, "a device, a pipe or a socket");
  }
  EXPECT_TRUE(std::filesystem::is_fifo(folder_ / "pipe"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
}

TEST_F(Profile, ExportRefusesWhatTheRunDoesNotHave) {
  synth("run");
  expect_refusal({"export", path("run")}, 2, "--to chrome|csv is missing");
  expect_refusal({"export", path("run"), "--to", "perfetto"}, 2, "use chrome: Perfetto opens it");
  expect_refusal({"export", path("run"), "--to", "pdf"}, 2, "must be one of chrome, csv");
  expect_refusal({"export", path("run"), "--to", "csv", "--ranks", "4"}, 2, "the run has ranks 0 to 3");
  expect_refusal({"export", path("run"), "--to", "csv", "--ranks", "3-1"}, 2, "write 0-7,12");
  expect_refusal({"export", path("run"), "--to", "csv", "--steps", "11-"}, 2, "the run has steps 1 to 10");
  expect_refusal({"export", path("run"), "--to", "csv", "--steps", "x"}, 2, "is no range of steps");
  expect_refusal({"export", path("run"), "--to", "csv", "--out", path("no/such/file")}, 2, "no/such");
}

}  // namespace
}  // namespace convoy::apps
