// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ModelExtents kModel{.layers = 4, .heads = 8, .key_value_heads = 4, .ffn_width = 96, .vocabulary = 257};

std::vector<std::string> problems(const Layout& layout, int world, std::int64_t global = 8, std::int64_t micro = 1,
                                  const ModelExtents& model = kModel) {
  return layout_problems(layout, world, model, global, micro);
}

TEST(Mesh, TensorParallelIsInnermostThenPipelineThenData) {
  const Layout layout{.tensor = 2, .pipeline = 3, .data = 2};
  EXPECT_EQ(coordinates_of(layout, 0), (Coordinates{.tensor = 0, .pipeline = 0, .data = 0}));
  EXPECT_EQ(coordinates_of(layout, 1), (Coordinates{.tensor = 1, .pipeline = 0, .data = 0}));
  EXPECT_EQ(coordinates_of(layout, 2), (Coordinates{.tensor = 0, .pipeline = 1, .data = 0}));
  EXPECT_EQ(coordinates_of(layout, 5), (Coordinates{.tensor = 1, .pipeline = 2, .data = 0}));
  EXPECT_EQ(coordinates_of(layout, 6), (Coordinates{.tensor = 0, .pipeline = 0, .data = 1}));
  EXPECT_EQ(coordinates_of(layout, 11), (Coordinates{.tensor = 1, .pipeline = 2, .data = 1}));
}

// By hand, of 2 x 3 x 2 ranks: pipeline first makes rank 5 = 2 + 3 x 1, data first rank 5 = 1 + 2 x 2.
TEST(Mesh, AnotherOrderMakesOtherRanksNeighbours) {
  Layout layout{.tensor = 2, .pipeline = 3, .data = 2, .rank_order = rank_order_of("pp,tp,dp")};
  EXPECT_EQ(coordinates_of(layout, 1), (Coordinates{.tensor = 0, .pipeline = 1, .data = 0}));
  EXPECT_EQ(coordinates_of(layout, 5), (Coordinates{.tensor = 1, .pipeline = 2, .data = 0}));
  EXPECT_EQ(coordinates_of(layout, 6), (Coordinates{.tensor = 0, .pipeline = 0, .data = 1}));
  layout.rank_order = rank_order_of("dp,pp,tp");
  EXPECT_EQ(coordinates_of(layout, 1), (Coordinates{.tensor = 0, .pipeline = 0, .data = 1}));
  EXPECT_EQ(coordinates_of(layout, 5), (Coordinates{.tensor = 0, .pipeline = 2, .data = 1}));
  EXPECT_EQ(coordinates_of(layout, 6), (Coordinates{.tensor = 1, .pipeline = 0, .data = 0}));
}

TEST(Mesh, RanksAndCoordinatesAreOneToOne) {
  Layout layout{.tensor = 3, .pipeline = 2, .data = 4};
  for (const char* order : {"tp,pp,dp", "tp,dp,pp", "pp,tp,dp", "pp,dp,tp", "dp,tp,pp", "dp,pp,tp"}) {
    layout.rank_order = rank_order_of(order);
    EXPECT_EQ(text_of(layout.rank_order), order);
    EXPECT_EQ(coordinates_of(layout, 0), Coordinates{}) << order;
    for (int rank = 0; rank < layout.world(); ++rank)
      EXPECT_EQ(rank_of(layout, coordinates_of(layout, rank)), rank) << order;
  }
  EXPECT_THROW(rank_order_of("tp,tp,dp"), InternalError);
}

TEST(Mesh, ARankOutsideOfItIsOurFault) {
  const Layout layout{.tensor = 2};
  EXPECT_THROW(coordinates_of(layout, 2), InternalError);
  EXPECT_THROW(rank_of(layout, {.tensor = 2}), InternalError);
}

TEST(Mesh, LayersAreCutEvenlyOrAsTold) {
  EXPECT_EQ(layers_of({.pipeline = 3}, 7, 0), (Range{0, 3}));
  EXPECT_EQ(layers_of({.pipeline = 3}, 7, 2), (Range{5, 7}));
  const Layout told{.pipeline = 3, .pipeline_split = {1, 4, 2}};
  EXPECT_EQ(layers_of(told, 7, 0), (Range{0, 1}));
  EXPECT_EQ(layers_of(told, 7, 1), (Range{1, 5}));
  EXPECT_EQ(layers_of(told, 7, 2), (Range{5, 7}));
}

TEST(Mesh, ChunksOfVirtualStagesGoRoundTheStages) {
  const Layout layout{.pipeline = 2, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2};
  EXPECT_EQ(chunk_of_model(layout, 0, 1), 2);
  EXPECT_EQ(chunk_of_model(layout, 1, 1), 3);
  EXPECT_EQ(layers_of(layout, 6, 1), (Range{2, 4}));
  EXPECT_EQ(layers_of(layout, 6, 3), (Range{5, 6}));
  Layout told = layout;
  told.pipeline_split = {1, 3, 1, 1};
  EXPECT_EQ(layers_of(told, 6, 1), (Range{1, 4}));
  EXPECT_EQ(layers_of(told, 6, 3), (Range{5, 6}));
}

TEST(Mesh, VirtualStagesAreThoseOfAnInterleavedScheduleOfSeveralStages) {
  const auto kInterleaved = ScheduleKind::kInterleaved;
  EXPECT_THAT(problems({.pipeline = 2, .schedule = kInterleaved, .virtual_stages = 2}, 2), IsEmpty());
  EXPECT_THAT(
      problems({.pipeline = 2, .schedule = kInterleaved}, 2),
      ElementsAre("--schedule interleaved: with --virtual-stages 1 there is nothing to interleave; nearest legal "
                  "values: --virtual-stages 2, or --schedule 1f1b"));
  EXPECT_THAT(
      problems({.pipeline = 2, .virtual_stages = 2}, 2),
      ElementsAre("--virtual-stages 2: several chunks a stage are those of --schedule interleaved; nearest legal "
                  "values: 1, or --schedule interleaved"));
  EXPECT_THAT(problems({.schedule = kInterleaved, .virtual_stages = 2}, 1),
              ElementsAre("--schedule interleaved: it is that of several stages; nearest legal values: "
                          "--pipeline-parallel 2, or --schedule 1f1b"));
  EXPECT_THAT(problems({.virtual_stages = 0}, 1),
              ElementsAre("--virtual-stages 0: it must be at least 1; nearest legal values: 1"));
}

TEST(Mesh, AChunkWithoutLayersIsRefused) {
  EXPECT_THAT(
      problems({.pipeline = 2, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 3}, 2),
      ElementsAre("--virtual-stages 3: 4 layers leave a chunk of 2 stages without any; nearest legal values: 2"));
  EXPECT_THAT(
      problems({.pipeline = 2, .schedule = ScheduleKind::kInterleaved, .pipeline_split = {2, 2}, .virtual_stages = 2},
               2),
      ElementsAre("--pipeline-split 2,2: 2 entries for 4 chunks; nearest legal values: 1,1,1,1"));
}

TEST(Mesh, RowsAreSharedByTensorParallelRanks) {
  EXPECT_THAT(problems({.tensor = 2, .sequence_parallel = true}, 2), IsEmpty());
  EXPECT_THAT(
      problems({.sequence_parallel = true}, 1),
      ElementsAre("--sequence-parallel: rows are shared by tensor-parallel ranks, and there is 1; nearest legal "
                  "values: --tensor-parallel 2, or without it"));
}

TEST(Mesh, ALegalLayoutHasNoProblems) {
  EXPECT_THAT(problems({}, 1), IsEmpty());
  EXPECT_THAT(problems({.tensor = 4, .pipeline = 4, .data = 2, .zero = 1}, 32), IsEmpty());
  EXPECT_THAT(problems({.pipeline = 2, .pipeline_split = {1, 3}}, 2), IsEmpty());
}

TEST(Mesh, EveryStageOfZeroIsLegalWithOneReplicaAndWithSeveral) {
  for (int zero = 0; zero <= 3; ++zero) {
    EXPECT_THAT(problems({.zero = zero}, 1), IsEmpty());
    EXPECT_THAT(problems({.tensor = 2, .pipeline = 2, .data = 2, .zero = zero}, 8), IsEmpty());
  }
}

TEST(Mesh, HeadsThatDoNotDivideNameTheNearestLegalSizes) {
  const ModelExtents gpt2{.layers = 4, .heads = 8, .key_value_heads = 8, .ffn_width = 96, .vocabulary = 257};
  EXPECT_THAT(problems({.tensor = 3}, 3, 8, 1, gpt2),
              ElementsAre("--tensor-parallel 3: 8 heads are not divisible by it; nearest legal values: 2, 4"));
}

TEST(Mesh, RanksMayShareAKeyValueHead) {
  EXPECT_THAT(problems({.tensor = 8}, 8), IsEmpty());
  const ModelExtents one{.layers = 4, .heads = 8, .key_value_heads = 1, .ffn_width = 96, .vocabulary = 257};
  EXPECT_THAT(problems({.tensor = 4}, 4, 8, 1, one), IsEmpty());
}

TEST(Mesh, KeyValueHeadsThatNeitherDivideNorAreSharedAlikeAreRefused) {
  EXPECT_THAT(problems({.tensor = 3}, 3),
              ElementsAre("--tensor-parallel 3: 8 heads are not divisible by it; nearest legal values: 2, 4",
                          "--tensor-parallel 3: 4 key/value heads are not divisible by it, nor it by them; nearest "
                          "legal values: 2, 4"));
  // Six ranks would share four heads: two of them one and a half.
  const ModelExtents model{.layers = 4, .heads = 12, .key_value_heads = 4, .ffn_width = 96, .vocabulary = 257};
  EXPECT_THAT(problems({.tensor = 6}, 6, 12, 1, model),
              ElementsAre("--tensor-parallel 6: 4 key/value heads are not divisible by it, nor it by them; nearest "
                          "legal values: 4, 12"));
}

TEST(Mesh, EveryRankNeedsRowsOfTheVocabularyAndOfTheFfn) {
  const ModelExtents narrow{.layers = 1, .heads = 16, .key_value_heads = 16, .ffn_width = 6, .vocabulary = 3};
  EXPECT_THAT(problems({.tensor = 8}, 8, 8, 1, narrow),
              ElementsAre("--tensor-parallel 8: a vocabulary of 3 leaves a rank without rows; nearest legal values: 2",
                          "--tensor-parallel 8: an ffn width of 6 leaves a rank without any; nearest legal values: 2"));
}

TEST(Mesh, TheWorldMustDivideIntoReplicas) {
  EXPECT_THAT(problems({.tensor = 2, .pipeline = 3}, 8),
              ElementsAre("--tensor-parallel 2 x --pipeline-parallel 3: 8 ranks cannot be divided into replicas of 6; "
                          "nearest legal values of the product: 4, 8"));
  EXPECT_THAT(problems({.tensor = 2, .pipeline = 1}, 1),
              ElementsAre("--tensor-parallel 2 x --pipeline-parallel 1: 1 rank cannot be divided into replicas of 2; "
                          "nearest legal values of the product: 1"));
}

TEST(Mesh, ReplicasThatAreNotTheRestOfTheWorldAreRefused) {
  EXPECT_THAT(problems({.tensor = 2, .data = 3}, 8),
              ElementsAre("3 replicas of 2 ranks each are not 8 ranks; nearest legal values: 4"));
}

TEST(Mesh, AStageWithoutLayersIsRefused) {
  EXPECT_THAT(problems({.pipeline = 5}, 5),
              ElementsAre("--pipeline-parallel 5: 4 layers leave a stage without any; nearest legal values: 4"));
}

TEST(Mesh, APipelineSplitHasALayerOrMoreForEachStage) {
  EXPECT_THAT(problems({.pipeline = 2, .pipeline_split = {2, 1, 1}}, 2),
              ElementsAre("--pipeline-split 2,1,1: 3 entries for 2 stages; nearest legal values: 2,2"));
  EXPECT_THAT(problems({.pipeline = 2, .pipeline_split = {2, 3}}, 2),
              ElementsAre("--pipeline-split 2,3: it has 5 layers, the model 4; nearest legal values: 2,2"));
  EXPECT_THAT(problems({.pipeline = 3, .pipeline_split = {4, 0, 0}}, 3),
              ElementsAre("--pipeline-split 4,0,0: each stage needs at least 1 layer; nearest legal values: 2,1,1"));
  EXPECT_THAT(problems({.pipeline = 2, .pipeline_split = {INT64_MAX, INT64_MAX}}, 2),
              ElementsAre("--pipeline-split 9223372036854775807,9223372036854775807: it has more layers than the "
                          "model's 4; nearest legal values: 2,2"));
}

TEST(Mesh, AZeroStageThatThereIsNotIsRefused) {
  EXPECT_THAT(problems({.zero = 4}, 1),
              ElementsAre("--zero 4: replicas share nothing (0), the optimizer's states (1), these and the gradients "
                          "(2), or the weights too (3); nearest legal values: 3"));
  EXPECT_THAT(problems({.zero = -1}, 1), ElementsAre(::testing::HasSubstr("--zero -1")));
}

TEST(Mesh, AGlobalBatchDividesIntoReplicasAndMicroBatches) {
  EXPECT_THAT(problems({.data = 2}, 2, 12, 4),
              ElementsAre("--global-batch-size 12: not divisible by 2 replicas x --micro-batch-size 4; nearest legal "
                          "values: 8, 16; with this batch, nearest legal values of --micro-batch-size: 3, 6"));
  EXPECT_THAT(problems({.data = 3}, 3, 4, 2),
              ElementsAre("--global-batch-size 4: not divisible by 3 replicas x --micro-batch-size 2; nearest legal "
                          "values: 6; no micro-batch size makes 4 sequences divide into 3 replicas"));
}

TEST(Mesh, ValuesBelowOneAreRefused) {
  EXPECT_THAT(problems({.tensor = 0, .pipeline = -2}, 1, 0, -1),
              ElementsAre("--tensor-parallel 0: it must be at least 1; nearest legal values: 1",
                          "--pipeline-parallel -2: it must be at least 1; nearest legal values: 1",
                          "--global-batch-size 0: it must be at least 1; nearest legal values: 1",
                          "--micro-batch-size -1: it must be at least 1; nearest legal values: 1"));
}

TEST(Mesh, AllProblemsAreNamedAtOnce) {
  EXPECT_EQ(problems({.tensor = 3, .pipeline = 5, .data = 1, .zero = 5, .pipeline_split = {4}}, 15, 7, 2).size(), 6u);
}

TEST(Mesh, HugeValuesDoNotOverflow) {
  EXPECT_FALSE(problems({.tensor = INT32_MAX, .pipeline = INT32_MAX}, 8).empty());
  EXPECT_FALSE(problems({.data = 2}, 2, INT64_MAX, INT64_MAX).empty());
}

TEST(Mesh, AnExtentThatIsNotKnownAsksForNothing) { EXPECT_THAT(problems({.tensor = 3}, 3, 8, 1, {}), IsEmpty()); }

TEST(Mesh, PrintsAsATable) {
  const Layout layout{.tensor = 2, .pipeline = 2, .data = 1, .pipeline_split = {3, 1}};
  EXPECT_EQ(mesh_table(layout, 4, {"n1", "n1", "node12", "node12"}),
            "node      rank  (dp, pp, tp)  layers\n"
            "n1           0  (0, 0, 0)     0-2\n"
            "n1           1  (0, 0, 1)     0-2\n"
            "node12       2  (0, 1, 0)     3\n"
            "node12       3  (0, 1, 1)     3\n");
  EXPECT_EQ(mesh_table({.tensor = 2, .pipeline = 2, .rank_order = rank_order_of("pp,tp,dp")}, 4, {"a", "a", "b", "b"}),
            "node    rank  (dp, pp, tp)  layers\n"
            "a          0  (0, 0, 0)     0-1\n"
            "a          1  (0, 1, 0)     2-3\n"
            "b          2  (0, 0, 1)     0-1\n"
            "b          3  (0, 1, 1)     2-3\n");
  EXPECT_EQ(mesh_table({.pipeline = 2, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2}, 6, {"n1", "n1"}),
            "node    rank  (dp, pp, tp)  layers\n"
            "n1         0  (0, 0, 0)     0-1, 4\n"
            "n1         1  (0, 1, 0)     2-3, 5\n");
}

}  // namespace
}  // namespace convoy::parallel
