// SPDX-License-Identifier: Apache-2.0
// --check-replicas-every, on runs with and without a flipped bit.
#include "libcore/train/replicas.h"

#include "libcore/model/shard.h"
#include "tests/unit/train/layout_runs.h"

namespace convoy::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CheckReplicas : public testing::Test {
 protected:
  config::RunOptions options(const TinyLayout& layout, const std::string& model, const std::string& precision) {
    config::RunOptions options = with_layout(tiny_options(folder_, layout.name), layout);
    folder_.write("config.json", for_layout(model, layout));
    options.batch.steps = 6;
    options.batch.global_batch = layout.data == 3 ? 12 : 8;  // of micro-batches of two
    options.device.precision = precision;
    options.layout.check_replicas_every = 1;
    options.output.checkpoint_every = "3";
    return options;
  }

  // A flip after step 5 of `rank`: what the run says of it.
  std::string said(const TinyLayout& layout, int rank, const std::string& model = tiny_llama(),
                   const std::string& precision = "fp32") {
    config::RunOptions run = options(layout, model, precision);
    run.rehearsal.faults = {"flip-bit:step=5,rank=" + std::to_string(rank)};
    try {
      train_tiny(run, layout.ranks());
    } catch (const NumericsError& error) {
      return error.what();
    }
    return "";
  }

  TmpDir folder_;
};

TEST_F(CheckReplicas, FindsNothingWhereNothingIsWrong) {
  for (const TinyLayout& layout : tiny_layouts()) {
    for (const std::string precision : {"fp32", "bf16"}) {
      SCOPED_TRACE(layout.name + " " + precision);
      TinyLayout named = layout;
      named.name += precision;
      EXPECT_EQ(train_tiny(options(named, tiny_tied_llama(), precision), layout.ranks()), ExitCode::kDone);
    }
  }
}

TEST_F(CheckReplicas, TheOddOneOfThreeIsNamedWithItsTensorAndNothingIsSaved) {
  const TinyLayout layout{"dp3", 1, 1, 3};
  EXPECT_THAT(said(layout, 1), AllOf(HasSubstr("step 5:"),
                                     HasSubstr("rank 1 (node here) holds another weight of model.embed_tokens.weight "
                                               "than ranks 0, 2"),
                                     testing::Not(HasSubstr("more of the"))));
  EXPECT_EQ(status_of(folder_ / "dp3")["exit_code"], 4);
  EXPECT_EQ(status_of(folder_ / "dp3")["last_checkpoint"], "checkpoints/step_000000003");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "dp3/checkpoints/step_000000005"));
}

TEST_F(CheckReplicas, OfTwoNeitherIsBlamed) {
  EXPECT_THAT(said({"dp2", 1, 1, 2}, 1),
              HasSubstr("rank 0 (node here), rank 1 (node here) hold different values of the weight of "
                        "model.embed_tokens.weight, and which are right is not known"));
}

TEST_F(CheckReplicas, ReplicasThatShareTheirStatesAreComparedToo) {
  EXPECT_THAT(said({"zero1", 1, 1, 3, 1}, 2, tiny_llama(), "bf16"), HasSubstr("rank 2 (node here) holds another"));
}

TEST_F(CheckReplicas, TensorRanksCompareTheTensorsThatAllOfThemHold) {
  EXPECT_THAT(said({"tp4", 4, 1, 1}, 3), HasSubstr("rank 3 (node here) holds another weight of "
                                                   "model.layers.0.input_layernorm.weight than ranks 0, 1, 2"));
  EXPECT_THAT(said({"gpt2", 4, 1, 1}, 3, tiny_gpt2()),
              HasSubstr("rank 3 (node here) holds another weight of transformer.wpe.weight than ranks 0, 1, 2"));
}

TEST_F(CheckReplicas, TheEndsOfThePipelineCompareATiedEmbedding) {
  EXPECT_THAT(said({"pp2", 1, 2, 1}, 1, tiny_tied_llama()),
              HasSubstr("different values of the weight of model.embed_tokens.weight"));
}

// A difference in the middle of the run is seen before it is saved, however seldom replicas are compared.
TEST_F(CheckReplicas, EverySaveIsPrecededByAComparison) {
  config::RunOptions run = options({"dp2", 1, 1, 2}, tiny_llama(), "fp32");
  run.layout.check_replicas_every = 1000;
  run.rehearsal.faults = {"flip-bit:step=2,rank=0"};
  EXPECT_THROW(train_tiny(run, 2), NumericsError);
  EXPECT_EQ(rows_of(folder_ / "dp2", "step").size(), 3u);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "dp2/checkpoints/step_000000003"));
}

// Four ranks and two key/value heads, each of which two ranks hold.
TEST(Replicas, NeighboursHoldOneKeyValueHead) {
  const model::Config config = model::parse_config(tiny_llama(), "tiny");
  comm::run_ranks(4, [&](comm::Communicator& world) {
    const parallel::Layout layout{.tensor = 4};
    const parallel::Coordinates at{.tensor = world.rank()};
    model::Parameters parameters(model::local_parameters(config, model::shards_at(config, layout, at)),
                                 tensor::DType::kF32, false);
    const optim::AdamW optimizer(parameters, {});
    device::Stream stream(ops::cpu_backend(), 1);
    const Replicas replicas(config, layout, tensor::DType::kF32);
    EXPECT_EQ(replicas.differences(stream, world, parameters, optimizer), "");
    const std::size_t keys = parameters.index("model.layers.1.self_attn.k_proj.weight");
    if (world.rank() == 2) parameters.weight(keys).as<float>()[5] = 1.0f;
    EXPECT_THAT(
        replicas.differences(stream, world, parameters, optimizer),
        testing::StartsWith("rank 2, rank 3 hold different values of the weight of model.layers.1.self_attn.k_"));
  });
}

TEST(Replicas, ThereAreNoneOnOneRankNorOfAPipelineWithoutATiedEmbedding) {
  const model::Config untied = model::parse_config(tiny_llama(), "untied");
  const model::Config tied = model::parse_config(tiny_tied_llama(), "tied");
  EXPECT_FALSE(Replicas(untied, {}, tensor::DType::kF32).any());
  EXPECT_FALSE(Replicas(untied, {.pipeline = 2}, tensor::DType::kF32).any());
  EXPECT_TRUE(Replicas(tied, {.pipeline = 2}, tensor::DType::kF32).any());
  EXPECT_TRUE(Replicas(untied, {.tensor = 2}, tensor::DType::kF32).any());
  EXPECT_TRUE(Replicas(untied, {.data = 2, .zero = 1}, tensor::DType::kF32).any());
}

}  // namespace
}  // namespace convoy::train
