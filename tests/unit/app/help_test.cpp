// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/help.h"

#include <sstream>

namespace convoy::app {
namespace {

using testing::HasSubstr;

struct Sample {
  std::int64_t steps = 100;
  std::string input, precision = "bf16";
  std::vector<std::string> data;
  Command command{
      .name = "run",
      .purpose = "trains a model",
      .details =
          "A paragraph that is long enough to be broken into two lines because it has more than one hundred "
          "characters.",
      .examples = {"convoy-train run corpus"},
      .options = {positional("INPUT", input, "what to read"), count("steps", steps, {1}, "steps to train").in("Length"),
                  choice("precision", precision, {"fp32", "bf16"}, "of the weights"),
                  texts("data", "PREFIX", data, "dataset").required()},
      .run = {}};
  Program program{.name = "convoy-train",
                  .purpose = "trains",
                  .examples = {},
                  .config_table = "train",
                  .commands = {command},
                  .libraries = {}};
};

TEST(CommandHelp, ShowsPurposeUsageGroupsDefaultsAndExamples) {
  const Sample sample;
  const std::string help = command_help(sample.program, sample.command, sample.command.options);
  for (const char* part :
       {"convoy-train run: trains a model\n", "Usage: convoy-train run INPUT --data PREFIX [options]\n",
        "  --precision fp32|bf16", "[default: bf16]", "\nLength:\n  --steps N", "steps to train [default: 100]",
        "dataset (may be repeated) (required)", "Examples:\n  convoy-train run corpus\n", "Exit codes: 0 done"}) {
    EXPECT_THAT(help, HasSubstr(part));
  }
}

TEST(CommandHelp, HasNoLineThatIsTooWide) {
  const Sample sample;
  std::istringstream lines(command_help(sample.program, sample.command, sample.command.options));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 104u) << line;
}

TEST(ProgramHelp, ListsTheCommandsWithTheirPurpose) {
  EXPECT_THAT(program_help(Sample().program), testing::ContainsRegex("  run +trains a model\n"));
}

TEST(BashCompletion, KnowsCommandsFlagsAndChoices) {
  const Sample sample;
  const std::string script = bash_completion("convoy-train", {{"run", sample.command.options}});
  for (const char* part :
       {"\"run --help --version\"", "run) words=\"--steps --precision --data\"", "run,--precision) words=\"fp32 bf16\"",
        "complete -o default -F _convoy_train convoy-train"}) {
    EXPECT_THAT(script, HasSubstr(part));
  }
}

}  // namespace
}  // namespace convoy::app
