// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/command_line.h"

namespace convoy::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

class CommandLines : public testing::Test {
 protected:
  CommandLine parse(const Texts& arguments) const { return parse_command_line(options_, arguments); }

  std::int64_t steps_ = 1;
  bool verbose_ = false;
  Texts data_, inputs_;
  std::string first_;
  std::vector<Option> options_ = {positional("FIRST", first_, ""), positionals("INPUT", inputs_, ""),
                                  count("steps", steps_, {}, ""), toggle("verbose", verbose_, ""),
                                  texts("data", "PREFIX", data_, "")};
};

TEST_F(CommandLines, SortTextsToTheirOptionsAndConvertNothing) {
  const CommandLine line = parse({"a", "--steps", "many", "b", "--data=x", "--verbose", "c", "--data", "y"});
  EXPECT_THAT(line.problems, IsEmpty());
  EXPECT_THAT(line.unknown, IsEmpty());
  EXPECT_THAT(line.values.at("FIRST"), ElementsAre("a"));
  EXPECT_THAT(line.values.at("INPUT"), ElementsAre("b", "c"));
  EXPECT_THAT(line.values.at("steps"), ElementsAre("many"));
  EXPECT_THAT(line.values.at("data"), ElementsAre("x", "y"));
  EXPECT_THAT(line.values.at("verbose"), ElementsAre("true"));
  EXPECT_EQ(steps_, 1);
}

TEST_F(CommandLines, KeepEveryTextOfARepeatedScalar) {
  EXPECT_THAT(parse({"--steps", "1", "--steps", "2"}).values.at("steps"), ElementsAre("1", "2"));
}

TEST_F(CommandLines, TakeOddTextsAsTheyAre) {
  const CommandLine line =
      parse({"-", "[a,b]", "--data", "[c,d]", "--data", "-5", "--data", "", "@list", "--data={}", "--data", "x=y"});
  EXPECT_THAT(line.values.at("FIRST"), ElementsAre("-"));
  EXPECT_THAT(line.values.at("INPUT"), ElementsAre("[a,b]", "@list"));
  EXPECT_THAT(line.values.at("data"), ElementsAre("[c,d]", "-5", "", "{}", "x=y"));
}

TEST_F(CommandLines, TakeEverythingAfterTwoDashesAsOperands) {
  EXPECT_THAT(parse({"a", "--", "--steps", "-x"}).values.at("INPUT"), ElementsAre("--steps", "-x"));
  EXPECT_THAT(parse({"a", "--", "--steps", "-x"}).unknown, IsEmpty());
}

TEST_F(CommandLines, KeepWhatNoOptionTakes) {
  EXPECT_THAT(parse({"--stepz", "a", "-q"}).unknown, ElementsAre("--stepz", "-q"));
}

TEST_F(CommandLines, TellOfAMissingValueAndKeepTheRest) {
  const CommandLine line = parse({"--data", "x", "--steps"});
  EXPECT_THAT(line.problems, ElementsAre(HasSubstr("--steps: a value is missing")));
  EXPECT_THAT(line.values.at("data"), ElementsAre("x"));
  EXPECT_THAT(parse({"--data=", "x"}).problems, ElementsAre(HasSubstr("the value is empty")));
}

TEST(ArgumentsOf, GiveTheSameValuesToAnotherParse) {
  std::int64_t steps = 7;
  bool on = true, off = false, overlap = false;
  std::string model = "[a,b]", empty;
  std::vector<std::string> data = {"a b", "-c"}, inputs = {"x", "y"};
  const std::vector<Option> options = {count("steps", steps, {1}, ""),  toggle("on", on, ""),
                                       toggle("off", off, ""),          yes_no("overlap", overlap, ""),
                                       text("model", "NAME", model, ""), texts("data", "PREFIX", data, ""),
                                       text("unset", "X", empty, ""),    positionals("INPUT", inputs, "")};
  const std::vector<std::string> arguments =
      arguments_of(options, {"steps", "on", "off", "overlap", "model", "data", "unset", "INPUT"});
  EXPECT_EQ(arguments, (std::vector<std::string>{"--steps=7", "--on", "--overlap=false", "--model", "[a,b]", "--data=a b",
                                                 "--data=-c", "x", "y"}));
  const CommandLine line = parse_command_line(options, arguments);
  EXPECT_TRUE(line.problems.empty());
  EXPECT_TRUE(line.unknown.empty());
  EXPECT_EQ(line.values.at("model"), std::vector<std::string>{"[a,b]"});
  EXPECT_EQ(line.values.at("data"), data);
  EXPECT_EQ(line.values.at("INPUT"), inputs);
}

TEST(ArgumentsOf, LeaveOutWhatWasNotGiven) {
  std::int64_t steps = 7;
  EXPECT_TRUE(arguments_of({count("steps", steps, {1}, "")}, {}).empty());
}

}  // namespace
}  // namespace convoy::app
