// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/config_file.h"

#include "libcore/base/error.h"
#include "tests/support/tmp_dir.h"

namespace convoy::app {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

class ConfigFiles : public testing::Test {
 protected:
  Texts read(std::string_view toml) { return read_config(dir_.write("run.toml", toml), scope_, options_, given_); }

  support::TmpDir dir_;
  ConfigScope scope_ = {"train", "run", {"run", "plan"}, {"devices"}};
  std::int64_t steps_ = 1, size_ = 1024;
  double rate_ = 0.1, stop_ = 60;
  bool overlap_ = true;
  std::string model_;
  std::optional<std::string> tokenizer_;
  Texts data_ = {"default"};
  std::vector<double> weights_;
  std::string only_flag_;
  std::vector<Option> options_ = {
      count("steps", steps_, {1}, ""),           real("lr", rate_, {0}, "").in("optimizer"),
      bytes("memory", size_, {1}, ""),           seconds("stop-after", stop_, {0}, ""),
      yes_no("overlap", overlap_, ""),           text("model", "NAME", model_, ""),
      text("tokenizer", "FILE", tokenizer_, ""), texts("data", "PREFIX", data_, ""),
      reals("data-weights", weights_, {0}, ""),  text("only", "X", only_flag_, "").flag_only()};
  Texts given_;
};

TEST_F(ConfigFiles, SetEveryKindOfValue) {
  EXPECT_THAT(read("[train]\nsteps = 1_000\nlr = 3e-4\nmemory = \"4GiB\"\nstop-after = 90\noverlap = false\nmodel = "
                   "'llama \"x\"'\n"
                   "data = [\"a\", 'b']\ndata-weights = [0.3, 1]\n"),
              IsEmpty());
  EXPECT_EQ(steps_, 1000);
  EXPECT_EQ(rate_, 3e-4);
  EXPECT_EQ(size_, std::int64_t{4} << 30);
  EXPECT_EQ(stop_, 90);
  EXPECT_FALSE(overlap_);
  EXPECT_EQ(model_, "llama \"x\"");
  EXPECT_THAT(data_, ElementsAre("a", "b"));
  EXPECT_THAT(weights_, ElementsAre(0.3, 1));
  EXPECT_THAT(given_, testing::UnorderedElementsAre("steps", "lr", "memory", "stop-after", "overlap", "model", "data",
                                                    "data-weights"));
}

TEST_F(ConfigFiles, AcceptOneValueForAList) {
  EXPECT_THAT(read("[train]\ndata = \"a\"\ndata-weights = \"0.5,0.5\"\n"), IsEmpty());
  EXPECT_THAT(data_, ElementsAre("a"));
  EXPECT_THAT(weights_, ElementsAre(0.5, 0.5));
}

TEST_F(ConfigFiles, ListEveryProblemWithItsLine) {
  const std::string file = (dir_ / "run.toml").string();
  EXPECT_THAT(
      read("[train]\nstepz = 1\nsteps = 0\nlr = [1, 2]\nmodel = 2020-01-01\nonly = 1\ndata = [1, [2]]\nlr-x.y = 1\n"),
      ElementsAre(AllOf(HasSubstr(file + ":2: unknown key 'stepz'"), HasSubstr("did you mean 'steps'")),
                  HasSubstr(file + ":3: steps = 0: must be at least 1"),
                  HasSubstr(":4: lr: takes one value, not a list"), HasSubstr(":5: model: must be a string"),
                  HasSubstr(":6: 'only' can only be given on the command line"),
                  HasSubstr(":7: data: must be a string"), HasSubstr(":8: unknown key 'lr-x'")));
}

TEST_F(ConfigFiles, IgnoreOtherTablesAndOtherCommands) {
  EXPECT_THAT(read("[site]\naccount = 1\n[train]\ndevices = 512\n[train.plan]\nwhatever = 1\n"), IsEmpty());
}

TEST_F(ConfigFiles, LetTheCommandsOwnTableWin) {
  EXPECT_THAT(read("[train.run]\nsteps = 7\n[train]\nsteps = 3\n"), IsEmpty());
  EXPECT_EQ(steps_, 7);
}

TEST_F(ConfigFiles, WithoutTheTableNameWhatTheyHave) {
  EXPECT_THAT(read("[trian]\nsteps = 3\n"), ElementsAre(AllOf(HasSubstr("no table [train]"), HasSubstr("[trian]"))));
  EXPECT_THAT(read("steps = 3\n[train]\n"), ElementsAre(HasSubstr(":1: key 'steps' stands outside of a table")));
}

TEST_F(ConfigFiles, ThatAreNoTomlAreRefusedWithTheLine) {
  for (const char* toml : {"[train]\nsteps = \n", "[train]\nsteps = 1\nsteps = 2\n", "[train]\nmodel = \"a\n\""}) {
    try {
      read(toml);
      FAIL() << toml;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), testing::ContainsRegex("run.toml:[23]:[0-9]+: not valid TOML"));
    }
  }
}

TEST_F(ConfigFiles, ThatDoNotExistAreTheUsersProblem) {
  EXPECT_THROW(read_config(dir_ / "none.toml", scope_, options_, given_), ConfigError);
}

TEST_F(ConfigFiles, WrittenReadBackToTheSameSettings) {
  steps_ = 123456789012;
  rate_ = 1.0 / 3;
  size_ = 5 << 20;
  stop_ = 0.125;
  overlap_ = false;
  model_ = "quotes \" and \\ and\nnew lines \x7f é";
  data_ = {"a,b", "", "#c"};
  weights_ = {1e-300, 2};
  const std::string written = write_config("train", options_);
  steps_ = 1, rate_ = 1, size_ = 1, stop_ = 1, overlap_ = true, model_ = "", data_ = {}, weights_ = {};
  EXPECT_THAT(read(written), IsEmpty()) << written;
  EXPECT_EQ(write_config("train", options_), written);
  EXPECT_EQ(steps_, 123456789012);
  EXPECT_EQ(rate_, 1.0 / 3);
  EXPECT_EQ(stop_, 0.125);
  EXPECT_FALSE(overlap_);
  EXPECT_EQ(model_, "quotes \" and \\ and\nnew lines \x7f é");
  EXPECT_THAT(data_, ElementsAre("a,b", "", "#c"));
  EXPECT_THAT(weights_, ElementsAre(1e-300, 2));
  EXPECT_FALSE(tokenizer_.has_value());
}

class ConfigTables : public testing::Test {
 protected:
  Texts read(std::string_view toml) { return read_tables(dir_.write("job.toml", toml), tables_); }

  support::TmpDir dir_;
  std::int64_t shards_ = 1, steps_ = 1;
  std::vector<ConfigTable> tables_ = {{.name = "merge", .options = {count("shards", shards_, {1}, "")}},
                                      {.name = "train", .options = {count("steps", steps_, {1}, "")}}};
};

TEST_F(ConfigTables, EachHasItsOwnKeys) {
  EXPECT_THAT(read("[train]\nsteps = 7\n"), IsEmpty());
  EXPECT_EQ(steps_, 7);
  EXPECT_FALSE(tables_[0].present);
  EXPECT_TRUE(tables_[1].present);
  EXPECT_THAT(tables_[1].given, ElementsAre("steps"));
  EXPECT_THAT(read("[merge]\nsteps = 7\n"), ElementsAre(HasSubstr("job.toml:2: unknown key 'steps' in [merge]")));
}

TEST_F(ConfigTables, TellAllProblemsInTheOrderOfTheirLines) {
  EXPECT_THAT(read("shards = 3\n[trains]\nsteps = 1\n[train]\nstep = 1\nsteps = 0\n[other]\n"),
              ElementsAre(HasSubstr(":1: key 'shards' stands outside of a table"),
                          HasSubstr(":2: unknown table [trains]; did you mean [train]?"),
                          HasSubstr(":5: unknown key 'step' in [train]; did you mean 'steps'?"),
                          HasSubstr(":6: steps = 0: must be at least 1"),
                          HasSubstr(":7: unknown table [other]; expected some of [merge], [train]")));
}

}  // namespace
}  // namespace convoy::app
