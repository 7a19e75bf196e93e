// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/own_work.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace convoy::analysis {
namespace {

constexpr double kHalfAStep = 0.0003;  // of a code: 2^(1/1365) is 0.05 %

TEST(Codes, KeepATimeToThreeHundredthsOfAPercent) {
  for (const std::uint64_t ns : {1ULL, 2ULL, 17ULL, 1000ULL, 123'456'789ULL, 86'400'000'000'000ULL}) {
    const double seconds = 1e-9 * static_cast<double>(ns);
    EXPECT_NEAR(seconds_of(code_of(ns)) / seconds, 1.0, kHalfAStep) << ns;
  }
}

TEST(Codes, TellNothingFromNotRecorded) {
  EXPECT_EQ(code_of(0), kNothing);
  EXPECT_GT(code_of(1), kNothing);
  EXPECT_EQ(seconds_of(kNothing), 0.0);
  EXPECT_EQ(seconds_of(kNotRecorded), 0.0);
  EXPECT_GT(seconds_of(code_of(std::numeric_limits<std::uint64_t>::max())), 86400.0);  // the longest there is
}

TEST(OwnNs, IsWallWithoutRunDelayAndNeverNegative) {
  EXPECT_EQ(own_ns({.wall_ns = 100, .delay_ns = 30}), 70U);
  EXPECT_EQ(own_ns({.wall_ns = 100, .delay_ns = 130}), 0U);
}

TEST(TrainingNs, LeavesOutEvaluationAndCheckpointWithTheirCommunication) {
  trace::StepRecord record;
  record.duration_ns = 1000;
  record[trace::Phase::kForward].wall_ns = 400;
  record[trace::Phase::kEvaluation].wall_ns = 100;
  record[trace::Phase::kEvaluationComm].wall_ns = 20;
  record[trace::Phase::kCheckpoint].wall_ns = 200;
  record[trace::Phase::kCheckpointComm].wall_ns = 80;
  EXPECT_EQ(training_ns(record), 600U);
  record[trace::Phase::kCheckpoint].wall_ns = 5000;
  EXPECT_EQ(training_ns(record), 0U);
}

TEST(OwnWork, SumsTheTrainingPhasesOfARecordedStep) {
  OwnWork own(2, 3);
  trace::StepRecord record;
  record[trace::Phase::kData].wall_ns = 1'000'000;
  record[trace::Phase::kForward] = {.wall_ns = 9'000'000, .delay_ns = 2'000'000};
  record[trace::Phase::kTensorComm].wall_ns = 50'000'000;
  record[trace::Phase::kCheckpoint].wall_ns = 50'000'000;
  own.put(1, 1, record);
  EXPECT_NEAR(own.training_seconds(1, 1).value(), 0.008, 0.008 * kHalfAStep);
  EXPECT_EQ(own.training_seconds(1, 0), std::nullopt);
  EXPECT_EQ(own.training_seconds(0, 1), std::nullopt);
}

}  // namespace
}  // namespace convoy::analysis
