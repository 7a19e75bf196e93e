// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/segments.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace convoy::analysis {
namespace {

std::string text_of(const std::vector<AttemptSteps>& attempts) {
  std::string text;
  for (const AttemptSteps& steps : attempts) text += fmt::format("a{}:{}-{} ", steps.attempt, steps.first, steps.last);
  return text;
}

TEST(LatestAttempts, TheLaterAttemptHasTheStepsThatBothRecorded) {
  EXPECT_EQ(text_of(latest_attempts({{1, 1, 59}, {2, 50, 99}})), "a1:1-49 a2:50-99 ");
  EXPECT_EQ(text_of(latest_attempts({{2, 50, 99}, {1, 1, 59}})), "a1:1-49 a2:50-99 ");
}

TEST(LatestAttempts, AnEarlierOneKeepsWhatLiesOnBothSidesOfALaterOne) {
  EXPECT_EQ(text_of(latest_attempts({{1, 1, 100}, {2, 40, 60}})), "a1:1-39 a2:40-60 a1:61-100 ");
  EXPECT_EQ(text_of(latest_attempts({{1, 1, 100}, {2, 20, 80}, {3, 40, 60}})),
            "a1:1-19 a2:20-39 a3:40-60 a2:61-80 a1:81-100 ");
}

TEST(LatestAttempts, AnAttemptThatWasRepeatedAltogetherHasNone) {
  EXPECT_EQ(text_of(latest_attempts({{1, 10, 20}, {2, 1, 30}})), "a2:1-30 ");
  EXPECT_EQ(text_of(latest_attempts({{1, 5, 5}, {2, 5, 5}})), "a2:5-5 ");
}

TEST(LatestAttempts, GapsStay) {
  EXPECT_EQ(text_of(latest_attempts({{1, 1, 10}, {2, 21, 30}, {3, 15, 16}})), "a1:1-10 a3:15-16 a2:21-30 ");
}

}  // namespace
}  // namespace convoy::analysis
