// SPDX-License-Identifier: Apache-2.0
// What a step that is not finite leaves behind: nothing but its row and its samples.
#include "libcore/checkpoint/step_directory.h"
#include "tests/unit/train/resume_runs.h"

namespace convoy::train {
namespace {

// Digests of weights and moments.
std::vector<std::uint64_t> states_of(const Path& step_directory) {
  std::vector<std::uint64_t> digests;
  const checkpoint::Checkpoint checkpoint(step_directory);
  for (const auto& tensor : checkpoint.manifest().tensors) digests.push_back(tensor.digest);
  return digests;
}

class SkippedSteps : public testing::TestWithParam<TinyLayout> {
 protected:
  SkippedSteps() : options_(with_layout(tiny_options(folder_), GetParam())) {
    options_.output.checkpoint_every = "1";
    options_.optimizer.warmup_steps = 4;
  }
  Path step(int number) const { return folder_ / "run/checkpoints" / checkpoint::step_directory_name(number); }
  std::string fault_at(int step) const {
    return "nan-gradient:step=" + std::to_string(step) + ",rank=" + std::to_string(GetParam().ranks() - 1);
  }

  TmpDir folder_;
  config::RunOptions options_;
};

TEST_P(SkippedSteps, LeaveWeightsMomentsAndRateAsTheyWere) {
  options_.rehearsal.faults = {fault_at(3)};
  ASSERT_EQ(train_tiny(options_, GetParam().ranks()), ExitCode::kDone);
  EXPECT_EQ(states_of(step(3)), states_of(step(2)));
  EXPECT_NE(states_of(step(4)), states_of(step(3)));
  const auto rows = rows_of(folder_ / "run", "step");
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[2]["loss"], nullptr);
  EXPECT_EQ(rows[2]["grad_norm"], nullptr);
  EXPECT_EQ(rows[2]["update"], 2);
  EXPECT_EQ(rows[2]["skipped"], 1);
  EXPECT_EQ(rows[2]["consumed_samples"], 24);
  EXPECT_EQ(rows[3]["lr"], rows[2]["lr"]);
  EXPECT_DOUBLE_EQ(rows[3]["lr"].get<double>(), 0.0075);  // of update 3 of 4
  EXPECT_TRUE(rows[3]["loss"].is_number());
}

TEST_P(SkippedSteps, TooManyInARowEndTheRunAndLeaveTheLastCheckpoint) {
  options_.rehearsal.faults = {fault_at(2)};
  options_.output.checkpoint_every = "4";
  options_.optimizer.max_skipped_steps = 3;
  options_.batch.steps = 4;
  ASSERT_EQ(train_tiny(options_, GetParam().ranks()), ExitCode::kDone);
  const std::string before = digest_of(step(4));
  options_.batch.steps = 12;
  options_.rehearsal.faults = {fault_at(6), fault_at(7), fault_at(8)};
  EXPECT_THROW(train_tiny(options_, GetParam().ranks()), NumericsError);
  EXPECT_EQ(status_of(folder_ / "run")["exit_code"], 4);
  EXPECT_EQ(status_of(folder_ / "run")["last_checkpoint"], "checkpoints/step_000000004");
  EXPECT_EQ(digest_of(step(4)), before);
  EXPECT_FALSE(std::filesystem::exists(step(8)));
  EXPECT_EQ(rows_of(folder_ / "run", "step").size(), 8u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, SkippedSteps,
                         testing::Values(TinyLayout{"one"}, TinyLayout{"dp2_zero1", 1, 1, 2, 1},
                                         TinyLayout{"tp2_pp2", 2, 2, 1}),
                         [](const testing::TestParamInfo<TinyLayout>& layout) { return layout.param.name; });

}  // namespace
}  // namespace convoy::train
