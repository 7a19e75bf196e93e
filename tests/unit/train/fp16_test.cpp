// SPDX-License-Identifier: Apache-2.0
// Training in fp16: near fp32 on every layout, and a loss scale that falls with overflows and survives interruptions.
#include <fmt/format.h>

#include "tests/unit/train/resume_runs.h"

namespace convoy::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Relative. Every activation and gradient on the way is rounded to 11 bits, at random: sums over a width of 16 and 64
// tokens stay within a few units in the last place.
constexpr double kHalfRounding = 4.0 / 2048.0;

class Fp16 : public testing::Test {
 protected:
  config::RunOptions options(const std::string& run, const TinyLayout& layout = {"one"}) {
    config::RunOptions options = with_layout(tiny_options(folder_, run), layout);
    options.device.precision = "fp16";
    return options;
  }
  // Steps whose gradients overflow on the last rank.
  void overflow_at(config::RunOptions& options, int first, int last, int rank = 0) {
    for (int step = first; step <= last; ++step)
      options.rehearsal.faults.push_back(fmt::format("nan-gradient:step={},rank={}", step, rank));
  }
  std::vector<double> scales_of(const std::string& run) const {
    std::vector<double> scales;
    for (const auto& row : rows_of(folder_ / run, "step")) scales.push_back(row["loss_scale"]);
    return scales;
  }
  checkpoint::Progress progress_of(const std::string& run, int step) const {
    return checkpoint::Checkpoint(folder_ / run / fmt::format("checkpoints/step_{:09}", step))
        .manifest()
        .description.progress;
  }

  TmpDir folder_;
};

TEST_F(Fp16, TrainsAsFp32DoesOnEveryLayout) {
  config::RunOptions single = options("fp32");
  single.device.precision = "fp32";
  ASSERT_EQ(train_tiny(single), ExitCode::kDone);
  const auto want = rows_of(folder_ / "fp32", "step");
  for (const TinyLayout& layout : {TinyLayout{"one"}, TinyLayout{"tp2", 2, 1, 1}, TinyLayout{"dp2_zero1", 1, 1, 2, 1},
                                   TinyLayout{"pp2", 1, 2, 1}}) {
    ASSERT_EQ(train_tiny(options(layout.name, layout), layout.ranks()), ExitCode::kDone);
    const auto rows = rows_of(folder_ / layout.name, "step");
    ASSERT_EQ(rows.size(), want.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const char* key : {"loss", "grad_norm"}) {
        const double value = want[i][key];
        EXPECT_NEAR(rows[i][key].get<double>(), value, kHalfRounding * value) << layout.name << " row " << i << key;
      }
    }
    EXPECT_EQ(rows.back()["skipped"], 0);
    EXPECT_NE(rows.back()["loss"], want.back()["loss"]) << "fp16 is not fp32";
  }
  EXPECT_FALSE(want.front().contains("loss_scale"));
}

// A power of two moves exponents alone, as long as nothing leaves the range on either side.
TEST_F(Fp16, TheScaleIsTakenOutOfTheGradientsAgain) {
  for (const char* scale : {"1024", "4096"}) {
    config::RunOptions run = options(scale);
    run.device.loss_scale = scale;
    ASSERT_EQ(train_tiny(run), ExitCode::kDone);
  }
  const auto low = rows_of(folder_ / "1024", "step"), high = rows_of(folder_ / "4096", "step");
  EXPECT_THAT(scales_of("1024"), testing::Each(1024.0));
  for (std::size_t i = 0; i < low.size(); ++i) {
    const double norm = low[i]["grad_norm"];
    EXPECT_NEAR(high[i]["grad_norm"].get<double>(), norm, kHalfRounding * norm) << "row " << i;
  }
}

// Without a scale the gradients of tokens are below fp16's smallest number, 6e-8, in part: what is lost shows.
TEST_F(Fp16, ATinyScaleLosesGradients) {
  for (const char* scale : {"1024", "1e-4"}) {
    config::RunOptions run = options(scale);
    run.device.loss_scale = scale;
    run.batch.steps = 1;
    ASSERT_EQ(train_tiny(run), ExitCode::kDone);
  }
  const auto norm = [&](const char* run) { return rows_of(folder_ / run, "step").front()["grad_norm"].get<double>(); };
  EXPECT_GT(std::abs(norm("1e-4") - norm("1024")), 10.0 * kHalfRounding * norm("1024"));
}

// By hand: the first overflow is forgiven, every further one halves.
TEST_F(Fp16, OverflowsLowerADynamicScaleAndAreNoLackOfProgress) {
  for (const TinyLayout& layout : {TinyLayout{"one"}, TinyLayout{"tp2_dp2_zero1", 2, 1, 2, 1}}) {
    config::RunOptions run = options(layout.name, layout);
    overflow_at(run, 1, 3, layout.ranks() - 1);
    run.optimizer.max_skipped_steps = 1;
    ASSERT_EQ(train_tiny(run, layout.ranks()), ExitCode::kDone);
    EXPECT_THAT(scales_of(layout.name), ElementsAre(65536.0, 65536.0, 32768.0, 16384.0, 16384.0, 16384.0));
    EXPECT_EQ(rows_of(folder_ / layout.name, "step").back()["update"], 3);
    const checkpoint::Progress progress = progress_of(layout.name, 6);
    EXPECT_EQ(progress.loss_scale, 16384.0);
    EXPECT_EQ(progress.loss_scale_history, (checkpoint::LossScaleHistory{3, 0}));
    EXPECT_EQ(progress.skipped_in_a_row, 0);
  }
}

// 17 overflows lead from 2^16 to 1, where a lower scale is no hope any more: the two that follow end the run.
TEST_F(Fp16, AtTheLeastScaleOverflowsCountAgain) {
  config::RunOptions run = options("run");
  run.batch.steps = 24;
  overflow_at(run, 1, 24);
  run.optimizer.max_skipped_steps = 2;
  EXPECT_THROW(train_tiny(run), NumericsError);
  const std::vector<double> scales = scales_of("run");
  ASSERT_EQ(scales.size(), 19u);
  EXPECT_EQ(scales[16], 2.0);
  EXPECT_EQ(scales[17], 1.0);
}

// Gradients of logits of 1e9 / 64 are beyond 65504.
TEST_F(Fp16, AFixedScaleThatOverflowsEndsTheRun) {
  config::RunOptions run = options("run");
  run.device.loss_scale = "1e9";
  run.optimizer.max_skipped_steps = 3;
  EXPECT_THROW(train_tiny(run), NumericsError);
  const auto rows = rows_of(folder_ / "run", "step");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows.back()["update"], 0);
  EXPECT_EQ(rows.back()["loss_scale"], 1e9);
}

// The overflow of step 2 is forgiven before the first stop, that of step 4 halves because the checkpoint remembers it.
TEST_F(Fp16, AResumedRunGoesOnToTheByte) {
  for (const TinyLayout& layout : {TinyLayout{"one"}, TinyLayout{"tp2_dp2_zero1", 2, 1, 2, 1}}) {
    expect_exact_resume(layout, "fp16", [&](config::RunOptions& options) {
      overflow_at(options, 2, 2);
      overflow_at(options, 4, 4);
      options.optimizer.max_skipped_steps = 1;
    });
  }
}

TEST_F(Fp16, AnotherScaleIsNamedWhenARunResumes) {
  config::RunOptions run = options("run");
  StopAt stop(0, 2);
  ASSERT_EQ(train_tiny(run, 1, [&](int rank) { return stop(rank); }), ExitCode::kRequeue);
  run.device.loss_scale = "512";
  try {
    train_tiny(run);
    FAIL() << "another loss scale was accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("loss-scale: the checkpoint's run has dynamic, this one 512"));
  }
  run.resume.allow_change = {"loss-scale"};
  ASSERT_EQ(train_tiny(run), ExitCode::kDone);
  EXPECT_THAT(scales_of("run"), ElementsAre(65536.0, 65536.0, 512.0, 512.0, 512.0, 512.0));
  EXPECT_EQ(progress_of("run", 6).loss_scale_history, std::nullopt);
}

TEST_F(Fp16, ARunOfAnotherPrecisionHasNoScale) {
  config::RunOptions run = options("run");
  run.device.precision = "bf16";
  ASSERT_EQ(train_tiny(run), ExitCode::kDone);
  EXPECT_EQ(progress_of("run", 6).loss_scale, std::nullopt);
  EXPECT_EQ(progress_of("run", 6).loss_scale_history, std::nullopt);
}

}  // namespace
}  // namespace convoy::train
