// SPDX-License-Identifier: Apache-2.0
#include "libcore/app/options.h"

#include <limits>

namespace convoy::app {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Count, TakesUnitsAndShowsItsDefault) {
  std::int64_t steps = 100;
  const Option option = count("steps", steps, {1}, "steps to train");
  EXPECT_EQ(option.shown_default, "100");
  EXPECT_EQ(option.set("64Ki"), "");
  EXPECT_EQ(steps, 65536);
  EXPECT_THAT(option.get(), ElementsAre("65536"));
}

TEST(Count, OutOfRangeNamesRuleAndNearestValueAndKeepsTheOldOne) {
  std::int64_t threads = 2;
  const Option option = count("threads", threads, {1, 64}, "");
  EXPECT_EQ(option.set("0"), "must be between 1 and 64; the nearest legal value is 1");
  EXPECT_EQ(option.set("1K"), "must be between 1 and 64; the nearest legal value is 64");
  EXPECT_THAT(option.set("2.4"), AllOf(HasSubstr("whole number"), HasSubstr("nearest legal value is 2")));
  EXPECT_THAT(option.set("many"), HasSubstr("whole number"));
  EXPECT_EQ(threads, 2);
  EXPECT_EQ(count("steps", threads, {1}, "").set("-3"), "must be at least 1; the nearest legal value is 1");
}

TEST(Count, OfAnIntRefusesWhatAnIntCannotHold) {
  int ranks = 1;
  const Option option = count("ranks", ranks, {1}, "");
  EXPECT_THAT(option.set("3000000000"), HasSubstr("nearest legal value is 2147483647"));
  EXPECT_EQ(option.set("2147483647"), "");
  EXPECT_EQ(ranks, std::numeric_limits<int>::max());
}

TEST(Count, OfAnOptionalIsUnsetUntilGiven) {
  std::optional<std::int64_t> tokens;
  const Option option = count("tokens", tokens, {1}, "");
  EXPECT_THAT(option.get(), IsEmpty());
  EXPECT_EQ(option.shown_default, "");
  EXPECT_EQ(option.set("1.5B"), "");
  EXPECT_EQ(tokens, 1500000000);
}

TEST(Bytes, ShowTheLargestUnitThatIsExact) {
  std::int64_t size = 3 << 20;
  const Option option = bytes("memory", size, {1024}, "");
  EXPECT_EQ(option.shown_default, "3MiB");
  EXPECT_EQ(option.set("1MB"), "");
  EXPECT_THAT(option.get(), ElementsAre("1000000"));
  EXPECT_EQ(option.set("1"), "must be at least 1KiB; the nearest legal value is 1KiB");
}

TEST(Seconds, ShowATextThatReadsBack) {
  double grace = 9000;
  const Option option = seconds("grace", grace, {0, 86400}, "");
  for (const char* text : {"2h", "90m", "0.25s", "86400s"}) {
    ASSERT_EQ(option.set(text), "");
    const double value = grace;
    ASSERT_EQ(option.set(option.get().front()), "");
    EXPECT_EQ(grace, value);
  }
  EXPECT_EQ(option.set("2d"), "must be between 0s and 24h; the nearest legal value is 24h");
}

TEST(Reals, AddUpOverCommasAndRepeats) {
  std::vector<double> weights = {1};
  const Option option = reals("weights", weights, {0}, "");
  option.clear();
  EXPECT_EQ(option.set("0.7,0.2"), "");
  EXPECT_EQ(option.set("0.1"), "");
  EXPECT_THAT(weights, ElementsAre(0.7, 0.2, 0.1));
  EXPECT_THAT(option.get(), ElementsAre("0.7", "0.2", "0.1"));
  EXPECT_THAT(option.set("0.5,,1"), HasSubstr("item ''"));
  EXPECT_THAT(option.set("0.5,-1"), AllOf(HasSubstr("item '-1'"), HasSubstr("at least 0")));
}

TEST(Choice, OutsideOfItNamesTheNearest) {
  std::string precision = "bf16";
  const Option option = choice("precision", precision, {"fp32", "bf16"}, "");
  EXPECT_EQ(option.set("bf17"), "must be one of fp32, bf16; the nearest legal value is bf16");
  EXPECT_EQ(option.set("fp32"), "");
  EXPECT_EQ(precision, "fp32");
}

TEST(Choice, OfYesAndNoTakesTheBooleansOfToml) {
  std::string tie = "auto";
  const Option option = choice("tie", tie, {"auto", "yes", "no"}, "");
  EXPECT_EQ(option.set("true"), "");
  EXPECT_EQ(tie, "yes");
}

TEST(YesNo, TakesNothingElse) {
  bool overlap = true;
  const Option option = yes_no("overlap", overlap, "");
  EXPECT_EQ(option.set("no"), "");
  EXPECT_FALSE(overlap);
  EXPECT_EQ(option.set("maybe"), "must be yes or no");
}

TEST(Toggle, TakesNoValue) {
  bool quick = false;
  const Option option = toggle("quick", quick, "");
  EXPECT_EQ(option.set("true"), "");
  EXPECT_TRUE(quick);
  EXPECT_THAT(option.set("3"), HasSubstr("takes no value"));
}

TEST(Positional, IsRequiredAndStaysOutOfTheConfiguration) {
  std::string input;
  std::vector<std::string> inputs;
  for (const Option& option : {positional("INPUT", input, ""), positionals("INPUT", inputs, "")}) {
    EXPECT_TRUE(option.is_required && option.is_positional && !option.in_config);
  }
  EXPECT_FALSE(positionals("INPUT", inputs, "").optional().is_required);
}

TEST(Headings, PutTheCommandsOwnListFirst) {
  std::string target;
  EXPECT_THAT(headings({text("a", "", target, "").in("model"), text("b", "", target, ""),
                        text("c", "", target, "").in("model")}),
              ElementsAre("", "model"));
}

}  // namespace
}  // namespace convoy::app
