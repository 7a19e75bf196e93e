// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/metrics_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tmp_dir.h"

namespace convoy::analysis {
namespace {

using testing::ElementsAre;

TEST(MetricsFile, HasTheCurvesOfItsSteps) {
  const support::TmpDir run;
  run.write("metrics.jsonl",
            "{\"kind\":\"step\",\"step\":1,\"loss\":8.5,\"lr\":0.001}\n"
            "{\"kind\":\"eval\",\"step\":1,\"set\":\"x\",\"loss\":9.0}\n"
            "{\"kind\":\"step\",\"step\":2,\"loss\":7.5,\"lr\":0.002}\n");
  const MetricsFile file = read_metrics(run.path());
  EXPECT_TRUE(file.found);
  EXPECT_EQ(file.lines, 3);
  EXPECT_EQ(file.unreadable, 0);
  EXPECT_THAT(file.loss.steps, ElementsAre(1, 2));
  EXPECT_THAT(file.loss.values, ElementsAre(8.5, 7.5));
  EXPECT_THAT(file.learning_rate.values, ElementsAre(0.001, 0.002));
}

TEST(MetricsFile, CountsWhatItCannotRead) {
  const support::TmpDir run;
  run.write("metrics.jsonl",
            "{\"kind\":\"step\",\"step\":1,\"loss\":8.5,\"lr\":0.001}\n"
            "\n"
            "[1,2]\n"
            "{\"kind\":\"step\",\"step\":\"two\",\"loss\":1}\n"
            "{\"kind\":7}\n"
            "{\"kind\":\"step\",\"step\":3,\"loss\":null,\"lr\":0.002}\n"
            "\xff\xfe\n"
            "{\"kind\":\"step\",\"step\":4,\"lo");
  const MetricsFile file = read_metrics(run.path());
  EXPECT_EQ(file.lines, 7);
  EXPECT_EQ(file.unreadable, 4);
  EXPECT_EQ(file.not_finite, 1);
  EXPECT_THAT(file.loss.steps, ElementsAre(1));
  EXPECT_THAT(file.learning_rate.steps, ElementsAre(1, 3));
  Report report;
  add_metrics(run.path(), {}, report);
  EXPECT_THAT(report.incomplete, ElementsAre("metrics.jsonl: 4 of 7 lines are no rows of metrics",
                                             "metrics.jsonl: the loss of 1 steps is not finite and not drawn"));
}

// The memory of the process itself has nothing at byte 0 and cannot be read there, whoever asks.
TEST(MetricsFile, SaysThatItCannotBeRead) {
  const support::TmpDir run;
  std::filesystem::create_symlink("/proc/self/mem", run / "metrics.jsonl");
  Report report;
  add_metrics(run.path(), {}, report);
  EXPECT_THAT(report.incomplete, ElementsAre("metrics.jsonl cannot be read to its end"));
}

TEST(MetricsFile, TakesTheStepsOfTheRangeInOrderAndOnce) {
  const support::TmpDir run;
  std::string rows;
  for (const int step : {4, 5, 6, 5, 7})
    rows += "{\"kind\":\"step\",\"step\":" + std::to_string(step) + ",\"loss\":2}\n";
  run.write("metrics.jsonl", rows);
  EXPECT_THAT(read_metrics(run.path(), {5, 6}).loss.steps, ElementsAre(5, 6));
}

TEST(MetricsFile, IsNotNeeded) {
  const support::TmpDir run;
  EXPECT_FALSE(read_metrics(run.path()).found);
  Report report;
  add_metrics(run.path(), {}, report);
  EXPECT_TRUE(report.incomplete.empty());
  EXPECT_TRUE(report.loss.steps.empty());
}

TEST(Thinned, KeepsEverySpike) {
  Curve curve;
  for (int step = 1; step <= 10000; ++step) {
    curve.steps.push_back(step);
    curve.values.push_back(step == 4321 ? 50.0 : step == 777 ? -3.0 : 1.0 + step * 1e-6);
  }
  const Curve thin = thinned(curve, 100);
  EXPECT_LE(thin.steps.size(), 100u);
  EXPECT_GE(thin.steps.size(), 90u);
  EXPECT_TRUE(std::is_sorted(thin.steps.begin(), thin.steps.end()));
  EXPECT_EQ(*std::max_element(thin.values.begin(), thin.values.end()), 50.0);
  EXPECT_EQ(*std::min_element(thin.values.begin(), thin.values.end()), -3.0);
  EXPECT_EQ(thinned(curve, 20000).steps, curve.steps);
}

}  // namespace
}  // namespace convoy::analysis
