// SPDX-License-Identifier: Apache-2.0
// convoy-train job as slurm/submit.sh calls it.
#include <regex>
#include <set>
#include <sstream>

#include "tests/apps/train_program.h"
#include "tests/support/tmp_dir.h"

namespace convoy::apps {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kTrain =
    "[train]\nmodel = \"llama-15m\"\ndata = [\"d\"]\nout = \"run\"\nsteps = 10\nglobal-batch-size = 8\n";

class Job : public testing::Test {
 protected:
  support::ProgramResult print(const std::string& toml, const std::string& stage) const {
    return call("convoy-train", {"job", folder_.write("chain.toml", toml).string(), "--stage", stage});
  }

  // What bash makes of `command` after the assignments of a stage.
  std::string after_eval(const std::string& toml, const std::string& stage, const std::string& command) const {
    folder_.write("chain.toml", toml);
    const std::string script =
        "eval \"$('" + program("convoy-train") + "' job chain.toml --stage " + stage + ")\"; " + command;
    const support::ProgramResult result =
        support::run_program({.arguments = {"bash", "-eu", "-c", script}, .directory = folder_.path()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  support::TmpDir folder_;
};

TEST_F(Job, WhatAShellEvaluatesAreTheValuesAndNothingRuns) {
  const std::string out = after_eval(
      "[site]\nsetup = [\"echo 'a  b'; touch ran\", \"x=$(touch ran)\"]\n[train]\nmodel = \"llama-15m\"\nsteps = 10\n"
      "out = \"a 'run' $(touch ran) `touch ran`\"\ndata = [\"[0]=x\"]\nglobal-batch-size = 8\n",
      "train", R"(printf '<%s>\n' "${job_site[@]}" "$job_run" "${job_arguments[@]}")");
  EXPECT_EQ(out,
            "<--setup=echo 'a  b'; touch ran>\n<--setup=x=$(touch ran)>\n<a 'run' $(touch ran) `touch ran`>\n"
            "<--model=llama-15m>\n<--data>\n<[0]=x>\n<--global-batch-size=8>\n<--steps=10>\n"
            "<--out=a 'run' $(touch ran) `touch ran`>\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ran"));
}

TEST_F(Job, AStageThatIsLeftOutLeavesNothingOfTheOneBefore) {
  const std::string out = after_eval(kTrain, "train",
                                     "eval \"$('" + program("convoy-train") +
                                         "' job chain.toml --stage merge)\"; "
                                         "echo $job_stage $job_present \"$job_run\" ${#job_arguments[@]}");
  EXPECT_EQ(out, "merge no  0\n");
}

TEST_F(Job, IsCheckedAsAWholeWhateverTheStage) {
  const support::ProgramResult result =
      print(std::string(kTrain) +
                "tensor-paralel = 2\ntensor-parallel = 3\nnodes = 2\nntasks-per-node = 2\n"
                "[export]\nto = \"hf\"\ndtype = \"bf61\"\n[sites]\n",
            "merge");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err,
              HasSubstr("chain.toml:7: unknown key 'tensor-paralel' in [train]; did you mean 'tensor-parallel'?"));
  EXPECT_THAT(result.err, HasSubstr("chain.toml:13: dtype = bf61: must be one of fp32, bf16"));
  EXPECT_THAT(result.err, HasSubstr("chain.toml:14: unknown table [sites]; did you mean [site]?"));
  // What run itself says of the layout, on the ranks that the job asks for.
  EXPECT_THAT(result.err, HasSubstr("[train] --tensor-parallel 3 x --pipeline-parallel 1: 4 ranks"));
  EXPECT_THAT(result.err, HasSubstr("[export] says how to export, but not where"));
}

TEST_F(Job, ASplitThatIsNoneIsToldAsSuch) {
  const std::string rest = "inputs = [\"c\"]\ntokenizer = \"m\"\nshards = 2\nout-dir = \"s\"\n[merge]\nout = \"d\"\n";
  for (const char* split : {"train", "train=0.5", "train=0.5,train=0.5", "../x=0.5,train=0.5", ",,="}) {
    const support::ProgramResult result =
        print(std::string(kTrain) + "[preprocess]\nsplit = \"" + split + "\"\n" + rest, "preprocess");
    EXPECT_EQ(result.exit_code, 2) << split;
    EXPECT_THAT(result.err, HasSubstr(std::string("[preprocess] split = '") + split + "'"));
  }
  EXPECT_EQ(print(std::string(kTrain) + "[preprocess]\nsplit = \"train=0.5,valid=0.5\"\n" + rest, "preprocess").exit_code, 0);
}

TEST_F(Job, WhatPlanWouldRefuseIsRefusedBeforeAnythingIsSubmitted) {
  const std::string rest = "inputs = [\"c\"]\ntokenizer = \"m\"\nout-dir = \"s\"\n[merge]\nout = \"d\"\n";
  const support::ProgramResult idle = print("[preprocess]\nshards = 2\nformat = \"jsonl\"\ndocument-separator = \"line\"\nmax-errors = 3\n"
                                            "dedup-memory = \"1GiB\"\nkey = [\"a..b\"]\n" + rest,
                                            "preprocess");
  EXPECT_EQ(idle.exit_code, 2);
  for (const char* part : {"[preprocess] --document-separator line: has no effect", "[preprocess] --max-errors: goes with",
                           "[preprocess] --dedup-memory: goes with", "[preprocess] key = 'a..b'"}) {
    EXPECT_THAT(idle.err, HasSubstr(part));
  }
  const support::ProgramResult text = print("[preprocess]\nshards = 2\nformat = \"text\"\nkey = [\"t\"]\n" + rest, "preprocess");
  EXPECT_THAT(text.err, HasSubstr("[preprocess] --key t: has no effect"));
  const support::ProgramResult good = print("[preprocess]\nshards = 2\nformat = \"text\"\ndocument-separator = \"line\"\non-error = \"skip\"\n"
                                            "max-errors = 3\ndedup = \"drop\"\ndedup-memory = \"1GiB\"\n" + rest,
                                            "preprocess");
  EXPECT_EQ(good.exit_code, 0) << good.err;
}

TEST_F(Job, AValueThatIsRefusedIsToldOfOnce) {
  const support::ProgramResult result =
      print("[preprocess]\ninputs = [\"c\"]\ntokenizer = 1979-05-27\nshards = 0\nout-dir = \"s\"\nthreads = 5000\n[merge]\nout = [\"d\"]\n", "merge");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("4 problems"));
  for (const char* part : {"tokenizer: must be", "shards = 0: ", "threads = 5000: ", "out: takes one value"}) EXPECT_THAT(result.err, HasSubstr(part));
}

TEST_F(Job, PathsAreRelativeToItsFolder) {
  folder_.write("sub/model/config.json", "{");
  folder_.write("sub/chain.toml",
                std::regex_replace(std::string(kTrain), std::regex("llama-15m"), "model/config.json"));
  const support::ProgramResult result =
      call("convoy-train", {"job", (folder_ / "sub/chain.toml").string(), "--stage", "train"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, Not(HasSubstr("neither a file or folder")));
}

// The keys of a program's own configuration, those that are unset too.
std::set<std::string> keys_of(const std::string& program, const std::string& command) {
  std::set<std::string> keys;
  std::istringstream lines(call(program, {command, "--print-config"}).out);
  const std::regex setting("(# )?([a-z][a-z-]*) = .*");
  for (std::string line; std::getline(lines, line);) {
    if (std::smatch match; std::regex_match(line, match, setting)) keys.insert(match[2]);
  }
  return keys;
}

// A flag that another program gets has to be a key here, or be kept out by this test.
TEST_F(Job, KnowsTheFlagsOfTheOtherPrograms) {
  struct Passed {
    const char *table, *program, *command;
    std::set<std::string> kept_out;
  };
  const std::vector<Passed> all = {// out is the plan's affair. Shards of several splits are not joined yet.
                                   {"preprocess", "convoy-preprocess", "encode", {"out", "plan", "shard"}},
                                   {"export", "convoy-ckpt", "export", {}},
                                   {"report", "convoy-profile", "report", {}},
                                   {"train", "convoy-train", "run", {}}};
  for (const Passed& passed : all) {
    const std::set<std::string> keys = keys_of(passed.program, passed.command);
    EXPECT_GT(keys.size(), 3U) << passed.program;
    std::string toml = std::string("[") + passed.table + "]\n";
    for (const std::string& key : keys) {
      if (!passed.kept_out.contains(key)) toml += key + " = \"\\u0001\"\n";
    }
    EXPECT_THAT(print(toml, "merge").err, Not(HasSubstr("unknown key"))) << passed.program << " " << passed.command;
  }
}

}  // namespace
}  // namespace convoy::apps
