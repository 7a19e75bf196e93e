// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/run_log.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/unit/train/tiny_run.h"

namespace convoy::train {
namespace {

using nlohmann::json;

class RunLogTest : public testing::Test {
 protected:
  RunLogTest() : directory_(folder_ / "run", identity_) {}

  RunLog open(std::int64_t steps = 2) {
    return RunLog(directory_, identity_,
                  {.steps = steps,
                   .batches = config::GlobalBatches(4),
                   .sequence_length = 25,
                   .flops_per_token = 2e9,
                   .peak_tflops = 2.0,
                   .log_every = 0,
                   .tensorboard = true});
  }
  json status() const { return json::parse(support::content_of(directory_.status())); }

  TmpDir folder_;
  Identity identity_{"here", 7, "", "process 7 on here"};
  RunDirectory directory_;
};

TEST_F(RunLogTest, StatusGoesFromRunningToFinished) {
  RunLog log = open();
  log.started();
  EXPECT_EQ(status()["state"], "running");
  EXPECT_EQ(status()["steps"], 2);
  log.step({.step = 1,
            .update = 1,
            .loss = 3.0,
            .grad_norm = 1.0,
            .lr = 0.1,
            .tokens = 100,
            .samples = 4,
            .consumed_samples = 4,
            .skipped = 0},
           0.5);
  log.saved(1, directory_.checkpoint(1), {.digest = "abc", .bytes = 10, .stall_seconds = 0.1, .write_seconds = 0.1});
  EXPECT_EQ(status()["last_checkpoint"], "checkpoints/step_000000001");
  EXPECT_EQ(status()["loss"], 3.0);
  EXPECT_EQ(status()["eta_seconds"], 0.5);
  log.finished();
  EXPECT_EQ(status()["state"], "finished");
  EXPECT_EQ(status()["exit_code"], 0);
}

TEST_F(RunLogTest, AStopSaysWhyAndAsksToBeQueuedAgain) {
  RunLog log = open();
  log.started();
  log.stopped("signal TERM");
  EXPECT_EQ(status()["state"], "stopped");
  EXPECT_EQ(status()["reason"], "signal TERM");
  EXPECT_EQ(status()["exit_code"], 75);
}

TEST_F(RunLogTest, AResumedRunStartsAtItsStep) {
  RunLog log = open();
  log.resumed(1, directory_.checkpoint(1));
  EXPECT_EQ(status()["state"], "running");
  EXPECT_EQ(status()["step"], 1);
  EXPECT_EQ(status()["last_checkpoint"], "checkpoints/step_000000001");
}

TEST_F(RunLogTest, AFailureKeepsTheStepAndSaysWhy) {
  RunLog log = open();
  log.started();
  log.step({.step = 1,
            .update = 1,
            .loss = 3.0,
            .grad_norm = 1.0,
            .lr = 0.1,
            .tokens = 100,
            .samples = 4,
            .consumed_samples = 4,
            .skipped = 0},
           0.5);
  log.failed("no space left", 7);
  EXPECT_EQ(status()["state"], "failed");
  EXPECT_EQ(status()["step"], 1);
  EXPECT_EQ(status()["reason"], "no space left");
  EXPECT_EQ(status()["exit_code"], 7);
  EXPECT_EQ(status()["eta_seconds"], nullptr);
}

TEST_F(RunLogTest, TimesGoToEventsAndNotToMetrics) {
  RunLog log = open();
  log.step({.step = 1,
            .update = 1,
            .loss = 3.0,
            .grad_norm = 1.0,
            .lr = 0.1,
            .tokens = 90,
            .samples = 4,
            .consumed_samples = 4,
            .skipped = 0},
           0.5);
  const json timing = json::parse(lines_of(directory_.events()).at(0));
  EXPECT_EQ(timing["tokens_per_second"], 200.0);
  EXPECT_DOUBLE_EQ(timing["tflops_per_device"].get<double>(), 0.4);
  EXPECT_DOUBLE_EQ(timing["mfu"].get<double>(), 0.2);
  EXPECT_GT(timing["memory_bytes"].get<std::int64_t>(), 0);
  const json metrics = json::parse(lines_of(directory_.metrics()).at(0));
  EXPECT_EQ(metrics["tokens"], 90);
  EXPECT_FALSE(metrics.contains("step_seconds"));
}

TEST_F(RunLogTest, TheEndSaysHowMuchMemoryEachRankHasHeld) {
  EXPECT_GT(peak_memory_bytes(), 1 << 20);  // of this process
  RunLog log = open();
  testing::internal::CaptureStderr();
  log.memory(std::vector<std::int64_t>{3 << 20, 5 << 20, 2 << 20}, std::vector<std::string>{"n01", "n01", "n02"});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("memory  peak 5.00 MiB on rank 1 (n01), least 2.00 MiB on rank 2 (n02)"));
  log.memory(std::vector<std::int64_t>{3 << 20}, std::vector<std::string>{"n01"});
  const auto rows = lines_of(directory_.events());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], R"({"kind":"memory","peak_bytes":[3145728,5242880,2097152]})");
  EXPECT_EQ(rows[1], R"({"kind":"memory","peak_bytes":[3145728]})");
}

}  // namespace
}  // namespace convoy::train
