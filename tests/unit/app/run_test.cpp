// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/run.h"

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "libcore/base/error.h"
#include "libcore/base/file.h"
#include "libcore/base/log.h"
#include "tests/support/tmp_dir.h"

namespace convoy::app {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Said {
  int code;
  std::string out, err;
};

class Run : public testing::Test {
 protected:
  Said call(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "/somewhere/convoy-train");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run(program(), static_cast<int>(arguments.size()), arguments.data());
    std::string out = testing::internal::GetCapturedStdout();
    return {code, out, testing::internal::GetCapturedStderr()};
  }
  void TearDown() override {
    set_log_level(LogLevel::kInfo);
    std::signal(SIGPIPE, SIG_DFL);
  }

  std::int64_t steps_ = 10;
  std::vector<std::string> data_ = {"default"};
  std::string model_ = "tiny";
  std::function<int(const Session&)> action_ = [](const Session&) { return 0; };
  Session session_;
  int rank_ = 0;
  std::string place_;

 private:
  Program program() {
    Command train{.name = "run",
                  .purpose = "trains a model",
                  .examples = {"convoy-train run --steps 1"},
                  .options = {count("steps", steps_, {1}, "steps"), texts("data", "PREFIX", data_, "data"),
                              text("model", "NAME", model_, "model")},
                  .has_json = true,
                  .run = [this](const Session& session) {
                    session_ = session;
                    return action_(session);
                  }};
    Command plan{.name = "plan",
                 .purpose = "plans",
                 .options = {count("devices", devices_, {1}, "devices").required()},
                 .run = action_};
    return {.name = "convoy-train",
            .purpose = "trains",
            .config_table = "train",
            .commands = {train, plan},
            .libraries = {{"oneDNN", "2.6.3"}},
            .rank = rank_,
            .place = place_};
  }
  std::int64_t devices_ = 1;
};

TEST_F(Run, GivesTheCommandItsSession) {
  EXPECT_EQ(call({"run", "--steps", "3", "--json"}).code, 0);
  EXPECT_EQ(session_.program, "convoy-train");
  EXPECT_EQ(session_.command, "run");
  EXPECT_TRUE(session_.json);
  EXPECT_THAT(session_.arguments, ElementsAre("/somewhere/convoy-train", "run", "--steps", "3", "--json"));
  EXPECT_THAT(session_.resolved_config, HasSubstr("steps = 3\n"));
}

TEST_F(Run, ReturnsTheCodeOfTheCommand) {
  action_ = [](const Session&) { return 75; };
  EXPECT_EQ(call({"run"}).code, 75);
}

TEST_F(Run, PrefersFlagsOverFileOverDefault) {
  const support::TmpDir dir;
  const std::string file = dir.write("run.toml", "[train]\nsteps = 5\ndata = [\"a\", \"b\"]\n").string();
  EXPECT_EQ(call({"run", "--config", file.c_str()}).code, 0);
  EXPECT_EQ(steps_, 5);
  EXPECT_EQ(model_, "tiny");
  EXPECT_THAT(data_, ElementsAre("a", "b"));
  EXPECT_EQ(call({"--config", file.c_str(), "run", "--steps=6", "--data", "c", "--data", "d", "--steps", "7"}).code, 0);
  EXPECT_EQ(steps_, 7);
  EXPECT_THAT(data_, ElementsAre("c", "d"));
}

TEST_F(Run, ListsEveryProblemOfFlagsAndFileAtOnce) {
  const support::TmpDir dir;
  const std::string file = dir.write("run.toml", "[train]\nstepz = 5\n").string();
  const Said said = call({"run", "--config", file.c_str(), "--steps", "0", "--modal", "x", "stray"});
  EXPECT_EQ(said.code, 2);
  EXPECT_EQ(said.out, "");
  EXPECT_THAT(said.err,
              AllOf(StartsWith("convoy-train run: error: "), HasSubstr("--steps 0: must be at least 1"),
                    HasSubstr("unknown flag --modal; did you mean --model?"), HasSubstr("unexpected operand 'stray'"),
                    HasSubstr("run.toml:2: unknown key 'stepz'"), HasSubstr("4 problems")));
}

TEST_F(Run, RequiresWhatIsRequired) {
  EXPECT_THAT(call({"plan"}).err, HasSubstr("--devices N is missing"));
  EXPECT_EQ(call({"plan"}).code, 2);
  EXPECT_THAT(call({"plan", "--devices"}).err,
              AllOf(HasSubstr("--devices: a value is missing"), Not(HasSubstr("problems"))));
  EXPECT_EQ(call({"plan", "--devices", "8"}).code, 0);
}

TEST_F(Run, NamesTheCommandThatAFlagBelongsTo) {
  EXPECT_THAT(call({"plan", "--devices", "8", "--steps", "3"}).err, HasSubstr("belongs to 'convoy-train run'"));
}

TEST_F(Run, WithoutAKnownCommandIsAUsageError) {
  EXPECT_EQ(call({}).code, 2);
  EXPECT_THAT(call({"rum"}).err, HasSubstr("did you mean 'run'?"));
  EXPECT_EQ(call({"rum"}).code, 2);
  EXPECT_THAT(call({"--steps", "3"}).err, HasSubstr("error: "));
}

TEST_F(Run, HelpGoesToStdoutWhateverElseIsWrong) {
  for (const std::vector<const char*>& arguments :
       {std::vector<const char*>{"run", "--steps", "0", "--help"}, {"run", "-h"}, {"--help", "run"}}) {
    const Said said = call(arguments);
    EXPECT_EQ(said.code, 0);
    EXPECT_THAT(said.out, StartsWith("convoy-train run: trains a model\n"));
  }
  EXPECT_THAT(call({"--help"}).out, HasSubstr("plans"));
}

TEST_F(Run, VersionNamesTheLibraries) {
  EXPECT_THAT(call({"--version"}).out,
              AllOf(testing::ContainsRegex("^convoy-train [0-9.]+\n"), HasSubstr("oneDNN 2.6.3"), HasSubstr("toml++")));
  EXPECT_EQ(call({"run", "--version"}).out, call({"--version"}).out);
}

TEST_F(Run, PrintedConfigIsAConfig) {
  const support::TmpDir dir;
  const Said first = call({"run", "--steps", "77", "--data", "x y", "--print-config"});
  EXPECT_EQ(first.code, 0);
  const std::string file = dir.write("run.toml", first.out).string();
  steps_ = 1;
  data_.clear();
  EXPECT_EQ(call({"run", "--config", file.c_str(), "--print-config"}).out, first.out);
  EXPECT_EQ(steps_, 77);
  EXPECT_THAT(data_, ElementsAre("x y"));
}

TEST_F(Run, PrintsTheConfigOfACommandWhoseRequiredFlagsAreMissing) {
  EXPECT_THAT(call({"plan", "--print-config"}).out, HasSubstr("[train]\ndevices = 1\n"));
}

TEST_F(Run, SetsTheLogLevel) {
  call({"run", "--log-level", "error"});
  EXPECT_EQ(log_level(), LogLevel::kError);
  EXPECT_THAT(call({"run", "--log-level", "warn"}).err, HasSubstr("the nearest legal value is warning"));
}

struct Failure {
  std::function<void()> act;
  int code;
  const char* text;
};

TEST_F(Run, TurnsExceptionsIntoTheDocumentedCodes) {
  const std::vector<Failure> failures = {
      {[] {
         throw ConfigError(std::vector<std::string>{"one", "two"});
       },
       2, "2 problems:\n  - one\n  - two\n"},
      {[] { throw DataError("a.bin is cut"); }, 3, "convoy-train run: error: a.bin is cut\n"},
      {[] { throw NumericsError("x"); }, 4, "error: x"},
      {[] { throw ClusterError("x"); }, 5, "error: x"},
      {[] { throw EnvironmentError("x"); }, 7, "error: x"},
      {[] { throw std::bad_alloc(); }, 7, "out of memory"},
      {[] { throw InternalError("x"); }, 1, "internal error: x"},
      {[] { throw std::runtime_error("x"); }, 1, "internal error: x"},
      {[] { throw 5; }, 1, "internal error"},
      {[] { std::filesystem::directory_iterator("/no/such"); }, 2, "/no/such"}};
  for (const Failure& failure : failures) {
    action_ = [&failure](const Session&) {
      failure.act();
      return 0;
    };
    const Said said = call({"run"});
    EXPECT_EQ(said.code, failure.code) << failure.text;
    EXPECT_THAT(said.err, HasSubstr(failure.text));
    EXPECT_EQ(said.out, "");
  }
}

[[noreturn]] void print_help_to_a_full_disk() {
  if (std::freopen("/dev/full", "w", stdout) == nullptr) std::_Exit(99);
  const std::vector<const char*> arguments = {"convoy-train", "run", "--help"};
  const std::string longer_than_a_buffer(1 << 16, 'x');
  const Program program{.name = "convoy-train",
                        .commands = {Command{.name = "run", .purpose = "x", .details = longer_than_a_buffer}}};
  std::_Exit(run(program, static_cast<int>(arguments.size()), arguments.data()));
}

TEST_F(Run, WhatOneRankMeetsIsToldWithItsPlace) {
  action_ = [](const Session&) -> int { throw ClusterError("the network is gone"); };
  rank_ = 3;
  place_ = "rank 3 (node n02)";
  EXPECT_EQ(call({"run"}).err, "convoy-train run: rank 3 (node n02): error: the network is gone\n");
}

TEST_F(Run, TheOtherRanksLetTheFirstTellWhatTheyMayAllHaveMet) {
  action_ = [](const Session&) -> int { throw EnvironmentError("the disk is gone"); };
  rank_ = 1;
  place_ = "rank 1 (node n01)";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(call({"run"}).code, 7);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST_F(Run, AWrongCommandLineIsToldWithoutAPlaceByTheFirstRank) {
  place_ = "rank 0 (node n01)";
  EXPECT_THAT(call({"run", "--stpes", "3"}).err, StartsWith("convoy-train run: error: unknown flag --stpes"));
  rank_ = 1;
  place_ = "rank 1 (node n01)";
  // It is still there: it may be the only one whose node lacks the file.
  EXPECT_THAT(call({"run", "--stpes", "3"}).err, StartsWith("convoy-train run: rank 1 (node n01): error: unknown flag"));
}

TEST_F(Run, OnAFullDiskBehindStdoutEndsWithSeven) {
  EXPECT_EXIT(print_help_to_a_full_disk(), testing::ExitedWithCode(7), "cannot write to stdout");
}

// Starts from the other disposition: some launchers hand down an ignored SIGPIPE.
[[noreturn]] void write_to_a_closed_pipe(bool survives) {
  std::signal(SIGPIPE, survives ? SIG_DFL : SIG_IGN);
  const std::vector<const char*> arguments = {"convoy-train", "run"};
  Command command{.name = "run", .purpose = "x", .survives_closed_output = survives, .run = [](const Session&) {
                    std::raise(SIGPIPE);
                    return 0;
                  }};
  std::_Exit(
      run({.name = "convoy-train", .commands = {command}}, static_cast<int>(arguments.size()), arguments.data()));
}

TEST_F(Run, AFileBeyondItsLimitIsAnErrorOfTheWriteAndNoEndOfTheProcess) {
  const support::TmpDir folder;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limit = before;
  limit.rlim_cur = 1000;
  std::signal(SIGXFSZ, SIG_DFL);
  action_ = [&folder](const Session&) {
    write_file_atomically(folder / "large", std::string(2000, 'x'));
    return 0;
  };
  setrlimit(RLIMIT_FSIZE, &limit);
  const Said said = call({"run"});
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(said.code, 7);
  EXPECT_THAT(said.err, AllOf(HasSubstr("large"), HasSubstr("File too large"), HasSubstr("ulimit -f")));
  EXPECT_THAT(folder.names(), ElementsAre());
}

TEST_F(Run, EndsLikeAFilterWhenItsReaderIsGone) {
  EXPECT_EXIT(write_to_a_closed_pipe(false), testing::KilledBySignal(SIGPIPE), "");
}

TEST_F(Run, LetsALongRunOutliveItsReader) { EXPECT_EXIT(write_to_a_closed_pipe(true), testing::ExitedWithCode(0), ""); }

TEST_F(Run, WritesACompletionThatBashAccepts) {
  const support::TmpDir dir;
  const Said said = call({"completion", "bash"});
  EXPECT_EQ(said.code, 0);
  const std::string script = dir.write("completion.bash", said.out).string();
  EXPECT_EQ(std::system(("bash -n " + script).c_str()), 0);
  EXPECT_EQ(call({"completion", "fish"}).code, 2);
}

}  // namespace
}  // namespace convoy::app
