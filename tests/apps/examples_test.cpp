// SPDX-License-Identifier: Apache-2.0
// Every program and command explains itself in one line, and every example of its help really runs.
#include <sys/resource.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "tests/apps/example_inputs.h"
#include "tests/support/run_program.h"
#include "tests/support/tmp_dir.h"

namespace convoy::examples {
namespace {

using testing::HasSubstr;

std::vector<std::string> programs() {
  std::vector<std::string> names;
  std::istringstream list(CONVOY_PROGRAMS);
  for (std::string name; std::getline(list, name, ' ');) names.push_back(name);
  return names;
}

support::ProgramResult call(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {std::string(CONVOY_BIN_DIR) + "/" + program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return support::run_program({.arguments = all});
}

// The lines below "HEADING:" of a help text, without their indent, up to the next empty line.
std::vector<std::string> lines_below(const std::string& help, const std::string& heading) {
  std::vector<std::string> found;
  std::istringstream lines(help);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (inside && line.empty()) break;
    if (inside) found.push_back(line.substr(std::min(line.find_first_not_of(' '), line.size())));
    inside = inside || line == heading + ":";
  }
  return found;
}

std::vector<std::string> commands_of(const std::string& program) {
  std::vector<std::string> names;
  const std::string help = call(program, {"--help"}).out;
  std::istringstream lines(help.substr(std::min(help.find("Commands:\n"), help.size())));
  const std::regex entry("  ([a-z][a-z-]*)( .*)?");
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line) && !line.empty();) {
    std::smatch match;
    if (std::regex_match(line, match, entry)) names.push_back(match[1]);
  }
  return names;
}

class Help : public testing::TestWithParam<std::string> {};

TEST_P(Help, OfTheProgramNamesItsPurposeItsCommandsAndAnExample) {
  const support::ProgramResult help = call(GetParam(), {"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_THAT(help.out, testing::ContainsRegex("^" + GetParam() + ": [^\n]+\n\nUsage: "));
  EXPECT_FALSE(lines_below(help.out, "Examples").empty());
  EXPECT_FALSE(commands_of(GetParam()).empty());
}

TEST_P(Help, OfEachCommandHasAPurposeAndAnExample) {
  for (const std::string& command : commands_of(GetParam())) {
    const support::ProgramResult help = call(GetParam(), {command, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.out, testing::ContainsRegex("^" + GetParam() + " " + command + ": [^\n]+\n\nUsage: "));
    EXPECT_FALSE(lines_below(help.out, "Examples").empty()) << GetParam() << " " << command;
  }
}

double processor_seconds_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST_P(Help, IsInstant) {
  constexpr double kBudgetSeconds = 0.050;
  double fastest = 1e9;  // of processor time, and the least of several: other work on the machine only ever adds
  for (int i = 0; i < 10; ++i) {
    const double before = processor_seconds_of_children();
    call(GetParam(), {"--help"});
    fastest = std::min(fastest, processor_seconds_of_children() - before);
  }
  EXPECT_LT(fastest, kBudgetSeconds);
}

TEST_P(Help, PrintedConfigurationsAreReadBack) {
  const support::TmpDir dir;
  for (const std::string& command : commands_of(GetParam())) {
    const support::ProgramResult first = call(GetParam(), {command, "--print-config"});
    ASSERT_EQ(first.exit_code, 0) << first.err;
    const std::string file = dir.write(command + ".toml", first.out).string();
    EXPECT_EQ(call(GetParam(), {command, "--config", file, "--print-config"}).out, first.out);
  }
}

// "convoy-train" as "train": a name of gtest has no dash.
std::string short_name(const testing::TestParamInfo<std::string>& program) {
  return program.param.substr(program.param.find('-') + 1);
}

INSTANTIATE_TEST_SUITE_P(Programs, Help, testing::ValuesIn(programs()), short_name);

// What makes an example small: the last one of a flag wins.
std::string shrunk(const std::string& example) {
  if (!example.starts_with("convoy-train run ")) return example;
  return example +
         " --steps 1 --warmup-steps 0 --sequence-length 16 --global-batch-size 1 --micro-batch-size 1 --eval-steps 1 "
         "--threads 1";
}

TEST(Examples, OfEveryHelpPageRun) {
  const support::TmpDir base;
  ASSERT_EQ(prepare(base.path()), "");
  int count = 0;
  const auto run_in_copy = [&](const std::string& example) {
    // A folder of its own, so that one example does not find what another left.
    const support::TmpDir copy;
    std::filesystem::copy(base.path(), copy.path(), std::filesystem::copy_options::recursive);
    EXPECT_EQ(run_line(copy.path(), shrunk(example)), "");
    ++count;
  };
  for (const std::string& program : programs()) {
    for (const std::string& example : lines_below(call(program, {"--help"}).out, "Examples")) run_in_copy(example);
    for (const std::string& command : commands_of(program)) {
      for (const std::string& example : lines_below(call(program, {command, "--help"}).out, "Examples"))
        run_in_copy(example);
    }
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace convoy::examples
