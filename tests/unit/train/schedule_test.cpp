// SPDX-License-Identifier: Apache-2.0
// The learning rates that a run writes down are those of its schedule, whether or not it was interrupted.
#include <cmath>

#include "tests/unit/train/resume_runs.h"

namespace convoy::train {
namespace {

using testing::HasSubstr;

std::vector<double> rates_of(const Path& run) {
  std::vector<double> rates;
  for (const auto& row : rows_of(run, "step")) rates.push_back(row["lr"]);
  return rates;
}

void expect_rates(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_DOUBLE_EQ(got[i], want[i]) << "update " << i;
}

class ScheduledRun : public testing::Test {
 protected:
  ScheduledRun() : options_(tiny_options(folder_)) {
    options_.optimizer.lr = 0.01;
    options_.optimizer.min_lr = 0.002;
    options_.optimizer.warmup_steps = 2;
  }
  TmpDir folder_;
  config::RunOptions options_;
};

TEST_F(ScheduledRun, LinearFallsToTheMinimum) {
  options_.optimizer.schedule = "linear";
  train_tiny(options_);
  expect_rates(rates_of(folder_ / "run"), {0.005, 0.01, 0.01, 0.008, 0.006, 0.004});
}

// Half of 6 updates decay: r is 0, 1/3, 2/3.
TEST_F(ScheduledRun, WsdDecaysInItsShare) {
  options_.optimizer.schedule = "wsd";
  options_.optimizer.wsd_decay_share = 0.5;
  train_tiny(options_);
  const auto at = [](double r) { return 0.002 + 0.008 * (1.0 - std::sqrt(r)); };
  expect_rates(rates_of(folder_ / "run"), {0.005, 0.01, 0.01, 0.01, at(1.0 / 3.0), at(2.0 / 3.0)});
}

TEST_F(ScheduledRun, TheDecayEndsWhereItIsToldAndNotWithTheSteps) {
  options_.optimizer.schedule = "linear";
  options_.optimizer.decay_steps = 4;
  train_tiny(options_);
  expect_rates(rates_of(folder_ / "run"), {0.005, 0.01, 0.01, 0.006, 0.002, 0.002});
}

TEST_F(ScheduledRun, TheFirstUpdateOfAWarmupMovesTheWeights) {
  options_.optimizer.warmup_steps = 6;
  options_.batch.steps = 6;
  options_.output.checkpoint_every = "1";
  train_tiny(options_);
  EXPECT_DOUBLE_EQ(rates_of(folder_ / "run").front(), 0.01 / 6.0);
  config::RunOptions still = options_;
  still.output.out = (folder_ / "still").string();
  still.optimizer.lr = still.optimizer.min_lr.emplace(0.0);
  train_tiny(still);
  const auto weights_of = [&](const char* run) {
    std::vector<std::uint64_t> digests;
    const checkpoint::Checkpoint checkpoint(folder_ / run / "checkpoints/step_000000001");
    for (const auto& tensor : checkpoint.manifest().tensors)
      if (tensor.state == checkpoint::kWeight) digests.push_back(tensor.digest);
    return digests;
  };
  EXPECT_NE(weights_of("run"), weights_of("still"));
}

TEST_F(ScheduledRun, ASchedulesRatesDoNotDependOnInterruptions) {
  for (const char* schedule : {"linear", "wsd"}) {
    expect_exact_resume({"dp2", 1, 1, 2}, "fp32", [&](config::RunOptions& options) {
      options.optimizer.schedule = schedule;
      options.optimizer.wsd_decay_share = 0.5;
      options.optimizer.warmup_steps = 1;
    });
  }
}

TEST_F(ScheduledRun, AnotherPeakIsRefusedOnResumeOrWhollyApplied) {
  options_.optimizer.schedule = "constant";
  options_.optimizer.min_lr.reset();
  StopAt stop(0, 3);
  ASSERT_EQ(train_tiny(options_, 1, [&](int rank) { return stop(rank); }), ExitCode::kRequeue);
  options_.optimizer.lr = 0.02;
  try {
    train_tiny(options_);
    FAIL() << "another rate was accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("lr: the checkpoint's run has 0.01, this one 0.02"));
  }
  options_.resume.allow_change = {"lr"};
  ASSERT_EQ(train_tiny(options_), ExitCode::kDone);
  expect_rates(rates_of(folder_ / "run"), {0.005, 0.01, 0.01, 0.02, 0.02, 0.02});
}

TEST_F(ScheduledRun, AnotherShareIsNamedWhenARunResumes) {
  options_.optimizer.schedule = "wsd";
  StopAt stop(0, 3);
  ASSERT_EQ(train_tiny(options_, 1, [&](int rank) { return stop(rank); }), ExitCode::kRequeue);
  options_.optimizer.wsd_decay_share = 0.5;
  try {
    train_tiny(options_);
    FAIL() << "another share was accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("wsd-decay-share: the checkpoint's run has 0.2, this one 0.5"));
  }
}

}  // namespace
}  // namespace convoy::train
