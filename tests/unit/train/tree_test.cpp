// SPDX-License-Identifier: Apache-2.0
// Runs with --reduction tree: other numbers of replicas leave the same bytes.
#include <atomic>

#include "tests/unit/train/layout_runs.h"

namespace convoy::train {
namespace {

constexpr std::int64_t kSteps = 20;

class Tree : public testing::Test {
 protected:
  // Clipped at every step and evaluated on the way, so that a norm, or a loss, in other bits shows.
  config::RunOptions options(const std::string& model, const TinyLayout& layout, std::int64_t global_batch = 8,
                             std::int64_t micro_batch = 1) {
    config::RunOptions options = with_layout(tiny_options(folder_, layout.name), layout);
    folder_.write("config.json", for_layout(model, layout));
    options.layout.reduction = "tree";
    options.batch.steps = kSteps;
    options.batch.global_batch = global_batch;
    options.batch.micro_batch = micro_batch;
    options.optimizer.clip_norm = 0.1;
    options.output.eval_every = 5;
    options.output.eval_steps = 0;
    options.output.checkpoint_every = "10";
    return options;
  }

  std::string metrics(const std::string& run) const { return support::content_of(folder_ / run / "metrics.jsonl"); }
  std::string digest(const std::string& run, const std::string& step = "step_000000020") const {
    return digest_of(folder_ / run / "checkpoints" / step);
  }

  using Change = std::function<void(config::RunOptions&)>;
  void expect_same_bytes(const std::string& model, const std::vector<TinyLayout>& layouts, const Change& change = {},
                         std::int64_t global_batch = 8, std::int64_t micro_batch = 1) {
    for (const TinyLayout& layout : layouts) {
      SCOPED_TRACE(layout.name);
      config::RunOptions run = options(model, layout, global_batch, micro_batch);
      if (change) change(run);
      ASSERT_EQ(train_tiny(run, layout.ranks()), ExitCode::kDone);
      EXPECT_EQ(metrics(layout.name), metrics(layouts.front().name));
      EXPECT_EQ(digest(layout.name, "step_000000010"), digest(layouts.front().name, "step_000000010"));
      EXPECT_EQ(digest(layout.name), digest(layouts.front().name));
    }
  }

  TmpDir folder_;
};

std::vector<TinyLayout> replicas(int tensor = 1, int pipeline = 1) {
  return {{"dp1", tensor, pipeline, 1},
          {"dp2", tensor, pipeline, 2},
          {"dp4", tensor, pipeline, 4},
          {"dp2_zero1", tensor, pipeline, 2, 1},
          {"dp4_zero1", tensor, pipeline, 4, 1},
          {"dp2_zero2", tensor, pipeline, 2, 2},
          {"dp4_zero3", tensor, pipeline, 4, 3}};
}

void in_bf16(config::RunOptions& options) { options.device.precision = "bf16"; }

TEST_F(Tree, LlamaLeavesTheSameBytesOnOneTwoAndFourReplicas) { expect_same_bytes(tiny_llama(), replicas()); }
TEST_F(Tree, Gpt2LeavesTheSameBytesOnOneTwoAndFourReplicas) { expect_same_bytes(tiny_gpt2(), replicas()); }
TEST_F(Tree, Bf16LeavesTheSameBytesOnOneTwoAndFourReplicas) { expect_same_bytes(tiny_llama(), replicas(), in_bf16); }

// Twelve micro-batches: twelve, six, four, three and two a replica.
TEST_F(Tree, MicroBatchesThatAreNoPowerOfTwoDoSoToo) {
  const std::vector<TinyLayout> layouts = {
      {"dp1"}, {"dp2", 1, 1, 2, 1}, {"dp3", 1, 1, 3}, {"dp4", 1, 1, 4}, {"dp6", 1, 1, 6, 1}};
  expect_same_bytes(tiny_gpt2(), layouts, {}, 12);
}

// The embedding's two uses are summed over the pipeline's ends, shared key/value heads and norms over the tensor ranks.
TEST_F(Tree, ReplicasOfAPipelineWithATiedEmbeddingDoSoToo) {
  expect_same_bytes(tiny_tied_llama(), replicas(1, 2), {}, 12);
}

TEST_F(Tree, ReplicasOfTensorRanksWithPartialSumsDoSoToo) {
  std::vector<TinyLayout> layouts = {{"dp1", 4, 1, 1}, {"dp2", 4, 1, 2}, {"dp2_zero1", 4, 1, 2, 1}};
  for (TinyLayout& layout : layouts) layout.sequence_parallel = true;
  expect_same_bytes(tiny_llama(), layouts, {}, 12, 2);
}

TEST_F(Tree, ReplicasOfInterleavedStagesDoSoToo) {
  std::vector<TinyLayout> layouts = {{"dp1", 1, 2, 1}, {"dp3_zero1", 1, 2, 3, 1}};
  for (TinyLayout& layout : layouts) layout.schedule = "interleaved", layout.virtual_stages = 2;
  expect_same_bytes(tiny_tied_llama(), layouts, {}, 12, 1);
}

TEST_F(Tree, BucketsAndOverlapChangeNothing) {
  const std::vector<TinyLayout> layouts = {{"with", 1, 1, 2}, {"without", 1, 1, 2}};
  expect_same_bytes(tiny_llama(), layouts,
                    [](config::RunOptions& options) { options.layout.overlap = options.output.out.ends_with("with"); });
}

TEST_F(Tree, ARampOfBatchesDoesSoToo) {
  expect_same_bytes(tiny_llama(), replicas(), [](config::RunOptions& options) {
    options.batch.global_batch.reset();
    options.batch.ramp = "0:4,160:8,600:12";
  });
}

TEST_F(Tree, ARunThatLostHalfOfItsReplicasGoesOnToTheSameBytes) {
  ASSERT_EQ(train_tiny(options(tiny_llama(), {"whole", 1, 1, 4}), 4), ExitCode::kDone);
  config::RunOptions parts = options(tiny_llama(), {"parts", 1, 1, 4});
  std::atomic<int> looks{0};
  const auto stop = [&](int rank) {
    return rank == 2 && ++looks >= 10 ? cluster::StopReason::kTerminate : cluster::StopReason::kNone;
  };
  ASSERT_EQ(train_tiny(parts, 4, stop), ExitCode::kRequeue);
  EXPECT_LT(status_of(folder_ / "parts")["step"].get<int>(), 20);
  parts.layout.zero = 1;
  ASSERT_EQ(train_tiny(parts, 2), ExitCode::kDone);
  EXPECT_EQ(metrics("parts"), metrics("whole"));
  EXPECT_EQ(digest("parts"), digest("whole"));
}

// Otherwise this file would hold of any reduction.
TEST_F(Tree, SumsInRankOrderDoDependOnTheReplicas) {
  for (const TinyLayout& layout : {TinyLayout{"dp1"}, TinyLayout{"dp4", 1, 1, 4}}) {
    config::RunOptions run = options(tiny_llama(), layout);
    run.layout.reduction = "bucket";
    ASSERT_EQ(train_tiny(run, layout.ranks()), ExitCode::kDone);
  }
  EXPECT_NE(digest("dp1"), digest("dp4"));
}

}  // namespace
}  // namespace convoy::train
