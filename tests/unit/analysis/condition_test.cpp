// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/made_report.h"

namespace convoy::analysis {
namespace {

using testing::HasSubstr;

Answer answer(const std::string& text, const Report& report) {
  Condition condition;
  EXPECT_EQ(parse_condition(text, condition), "");
  return judge(condition, report).answer;
}

std::string problem(const std::string& text) {
  Condition condition;
  return parse_condition(text, condition);
}

// The made straggler adds 12.5 % to its steps and cost the run 9.1 %.
TEST(Condition, HoldsBeyondItsLimitOnly) {
  const Report report = made_report();
  EXPECT_EQ(answer("straggler>5%", report), Answer::kHolds);
  EXPECT_EQ(answer(" straggler > 12.4 % ", report), Answer::kHolds);
  EXPECT_EQ(answer("straggler>12.6%", report), Answer::kHoldsNot);
  EXPECT_EQ(answer("straggler", report), Answer::kHolds);
  EXPECT_EQ(answer("lost>9%", report), Answer::kHolds);
  EXPECT_EQ(answer("lost>9.2%", report), Answer::kHoldsNot);
  EXPECT_EQ(answer("exposed>14.9%", report), Answer::kHolds);
  EXPECT_EQ(answer("exposed>15.1%", report), Answer::kHoldsNot);
  EXPECT_EQ(answer("mfu<40%", report), Answer::kHolds);
  EXPECT_EQ(answer("mfu<30%", report), Answer::kHoldsNot);
  EXPECT_EQ(answer("bubble>24%", report), Answer::kHolds);
  EXPECT_EQ(answer("starved>2.9%", report), Answer::kHolds);
  EXPECT_EQ(answer("step_seconds.p50>199ms", report), Answer::kHolds);
  EXPECT_EQ(answer("step_seconds.p95>0.211", report), Answer::kHoldsNot);
  EXPECT_EQ(answer("step_seconds.max<251ms", report), Answer::kHolds);
  EXPECT_EQ(answer("tokens_per_second<13K", report), Answer::kHolds);
  EXPECT_EQ(answer("incomplete", report), Answer::kHoldsNot);
}

TEST(Condition, SaysWhatWasFound) {
  Condition condition;
  ASSERT_EQ(parse_condition("straggler>5%", condition), "");
  EXPECT_EQ(judge(condition, made_report()).found, "rank 3 on n01: 12.50 %");
}

TEST(Condition, OfAHealthyRunHasNoStraggler) {
  Report report = made_report();
  report.stragglers.clear();
  EXPECT_EQ(answer("straggler", report), Answer::kHoldsNot);
  EXPECT_EQ(answer("straggler>0%", report), Answer::kHoldsNot);
}

// Nobody is named of a run of nine steps either.
TEST(Condition, CannotBeJudgedWhereRanksCouldNotBeCompared) {
  Report report = made_report();
  report.stragglers.clear();
  report.judged = false;
  EXPECT_EQ(answer("straggler", report), Answer::kNotMeasured);
  EXPECT_EQ(answer("straggler>5%", report), Answer::kNotMeasured);
  EXPECT_EQ(answer("lost<5%", report), Answer::kNotMeasured);
}

TEST(Condition, CannotBeJudgedWhereNothingWasMeasured) {
  const Report report = empty_report();
  for (const char* text : {"straggler>5%", "lost>5%", "exposed>5%", "bubble>5%", "starved>5%", "mfu<10%",
                           "step_seconds.p50>1s", "tokens_per_second<1K"})
    EXPECT_EQ(answer(text, report), Answer::kNotMeasured) << text;
  EXPECT_EQ(answer("incomplete", report), Answer::kHoldsNot);
}

TEST(Condition, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(problem(""), HasSubstr("it has straggler, lost,"));
  EXPECT_THAT(problem("stragler>5%"), HasSubstr("asks for 'stragler', which no report has"));
  EXPECT_THAT(problem("straggler>5"), HasSubstr("needs a limit in percent, like 5%"));
  EXPECT_THAT(problem("straggler>"), HasSubstr("needs a limit in percent"));
  EXPECT_THAT(problem("straggler>=5%"), HasSubstr("needs a limit in percent"));
  EXPECT_THAT(problem("straggler>-5%"), HasSubstr("needs a limit in percent"));
  EXPECT_THAT(problem("straggler>nan%"), HasSubstr("needs a limit in percent"));
  EXPECT_THAT(problem("mfu"), HasSubstr("has no limit; write mfu>LIMIT or mfu<LIMIT"));
  EXPECT_THAT(problem("step_seconds.p50>5%"), HasSubstr("needs a limit as a duration"));
  EXPECT_THAT(problem("tokens_per_second<fast"), HasSubstr("needs a whole number"));
}

}  // namespace
}  // namespace convoy::analysis
