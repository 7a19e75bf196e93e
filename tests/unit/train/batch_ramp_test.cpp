// SPDX-License-Identifier: Apache-2.0
// Runs whose global batch grows: what they read, on every layout and across interruptions.
#include "tests/unit/train/resume_runs.h"

namespace convoy::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// T 8: 4 sequences up to sample 4 (32 tokens), 8 up to sample 13 (100 tokens), then 16. By hand: steps begin at samples
// 0 | 4 12 | 20 36 52 and the sixth ends at 68.
constexpr const char* kRamp = "0:4,32:8,100:16";

void with_ramp(config::RunOptions& options) {
  options.batch.global_batch.reset();
  options.batch.ramp = kRamp;
}

class Ramp : public testing::Test {
 protected:
  config::RunOptions options(const std::string& run, const TinyLayout& layout) {
    config::RunOptions options = with_layout(tiny_options(folder_, run), layout);
    with_ramp(options);
    options.rehearsal.log_samples = true;
    return options;
  }

  std::vector<std::vector<std::int64_t>> samples_of(const std::string& run) const {
    std::vector<std::vector<std::int64_t>> samples;
    for (const std::string& line : lines_of(folder_ / run / "events.jsonl")) {
      const auto row = nlohmann::json::parse(line);
      if (row["kind"] == "samples") samples.push_back(row["first_tokens"]);
    }
    return samples;
  }

  TmpDir folder_;
};

TEST_F(Ramp, StepsTakeWhatTheTokensReadBeforeThemSay) {
  config::RunOptions run = options("run", {"one"});
  run.data.order = "sequential";
  ASSERT_EQ(train_tiny(run), ExitCode::kDone);
  std::vector<std::int64_t> consumed, tokens, first, count;
  for (const auto& row : rows_of(folder_ / "run", "step")) {
    consumed.push_back(row["consumed_samples"]);
    tokens.push_back(row["tokens"]);
  }
  for (const auto& samples : samples_of("run")) {
    first.push_back(samples.front() / 8);
    count.push_back(static_cast<std::int64_t>(samples.size()));
  }
  EXPECT_THAT(consumed, ElementsAre(4, 12, 20, 36, 52, 68));
  EXPECT_THAT(tokens, ElementsAre(32, 64, 64, 128, 128, 128));
  EXPECT_THAT(first, ElementsAre(0, 4, 12, 20, 36, 52));
  EXPECT_THAT(count, ElementsAre(4, 8, 8, 16, 16, 16));
}

TEST_F(Ramp, ABudgetOfTokensEndsWithTheStepThatReachesIt) {
  config::RunOptions run = options("run", {"one"});
  run.batch.steps.reset();
  run.batch.tokens = 20 * 8 + 1;
  ASSERT_EQ(train_tiny(run), ExitCode::kDone);
  EXPECT_EQ(rows_of(folder_ / "run", "step").size(), 4u);
}

TEST_F(Ramp, EveryLayoutReadsAndTrainsTheSame) {
  constexpr double kRounding = 2e-5;  // as in layouts_test.cpp
  ASSERT_EQ(train_tiny(options("one", {"one"})), ExitCode::kDone);
  const auto want = rows_of(folder_ / "one", "step");
  for (const TinyLayout& layout : {TinyLayout{"dp2_zero1", 1, 1, 2, 1}, TinyLayout{"pp2_dp2", 1, 2, 2},
                                   TinyLayout{"pp2_gpipe", 1, 2, 1, 0, "gpipe"}, TinyLayout{"tp2", 2, 1, 1}}) {
    ASSERT_EQ(train_tiny(options(layout.name, layout), layout.ranks()), ExitCode::kDone) << layout.name;
    EXPECT_EQ(samples_of(layout.name), samples_of("one")) << layout.name;
    const auto rows = rows_of(folder_ / layout.name, "step");
    ASSERT_EQ(rows.size(), want.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double loss = want[i]["loss"].get<double>();
      EXPECT_NEAR(rows[i]["loss"].get<double>(), loss, kRounding * loss) << layout.name << " row " << i;
      EXPECT_EQ(rows[i]["consumed_samples"], want[i]["consumed_samples"]);
    }
  }
}

// The stops are after steps 2 and 3: inside a size, and where the next one begins.
TEST_F(Ramp, AResumedRunGoesOnToTheByte) {
  expect_exact_resume({"one"}, "fp32", with_ramp);
  expect_exact_resume({"pp2_dp2_zero1", 1, 2, 2, 1}, "bf16", with_ramp);
}

TEST_F(Ramp, EvaluationsReadAsMuchWhateverTheStepsTake) {
  config::RunOptions run = options("run", {"one"});
  write_pair(folder_ / "valid", random_tokens(1001), {1001});
  run.output.eval_every = 1;
  run.output.eval_steps = 2;
  ASSERT_EQ(train_tiny(run), ExitCode::kDone);
  const auto rows = rows_of(folder_ / "run", "eval");
  ASSERT_EQ(rows.size(), 6u);
  for (const auto& row : rows) EXPECT_EQ(row["tokens"], 2 * 16 * 8);
}

TEST_F(Ramp, AnotherOneIsNamedWhenARunResumes) {
  config::RunOptions run = options("run", {"one"});
  StopAt stop(0, 2);
  ASSERT_EQ(train_tiny(run, 1, [&](int rank) { return stop(rank); }), ExitCode::kRequeue);
  run.batch.ramp = "0:4,40:8";
  try {
    train_tiny(run);
    FAIL() << "another ramp was accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("global-batch-size: the checkpoint's run has 0:4,32:8,100:16, this one "
                                        "0:4,40:8"));
  }
  run.resume.allow_change = {"global-batch-size"};
  ASSERT_EQ(train_tiny(run), ExitCode::kDone);
  EXPECT_EQ(rows_of(folder_ / "run", "step").back()["consumed_samples"], 12 + 4 * 8);
}

TEST_F(Ramp, TheSamplesOfSkippedStepsAreNamed) {
  config::RunOptions run = options("run", {"one"});
  run.rehearsal.faults = {"nan-gradient:step=3,rank=0", "nan-gradient:step=4,rank=0"};
  run.optimizer.max_skipped_steps = 2;
  StopAt stop(0, 3);
  ASSERT_EQ(train_tiny(run, 1, [&](int rank) { return stop(rank); }), ExitCode::kRequeue);
  try {
    train_tiny(run);
    FAIL() << "two skipped steps in a row were accepted";
  } catch (const NumericsError& error) {
    EXPECT_THAT(error.what(), HasSubstr("samples 12 to 35"));
  }
}

}  // namespace
}  // namespace convoy::train
