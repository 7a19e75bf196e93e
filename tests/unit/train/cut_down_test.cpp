// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/cut_down.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace convoy::train {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> problems(const SmallRun& run) {
  const model::Config& model = run.model;
  return parallel::layout_problems(
      run.layout, run.layout.world(),
      {model.layers, model.heads, model.key_value_heads, model.ffn_width, model.vocabulary},
      run.micro_batch * run.micro_batches * run.layout.data, run.micro_batch);
}

TEST(CutDown, EveryPresetIsCutToALegalAndSmallRunOfItsKind) {
  for (const std::string& name : model::preset_names()) {
    const model::Config large = model::preset(name);
    for (const int tensor : {1, 2, 4, 8}) {
      if (large.heads % tensor != 0) continue;
      SCOPED_TRACE(name + ", tensor-parallel " + std::to_string(tensor));
      const SmallRun run = cut_down(large, {.tensor = tensor, .pipeline = 2, .data = 2, .zero = 1}, 1024, 4, 8);
      EXPECT_THAT(problems(run), IsEmpty());
      EXPECT_EQ(run.model.heads > run.model.key_value_heads, large.heads > large.key_value_heads);
      EXPECT_EQ(run.model.architecture, large.architecture);
      EXPECT_EQ(run.model.tied_embeddings, large.tied_embeddings);
      EXPECT_LE(run.model.width, 256);
      EXPECT_EQ(run.model.vocabulary % 2, 1);
      EXPECT_GE(run.model.positions, run.sequence_length);
    }
  }
}

TEST(CutDown, GroupsOfQueryHeadsStayAsTheyAreUnlessThatIsWide) {
  model::Config model = model::preset("llama-1b");
  model.heads = 32;
  model.key_value_heads = 8;
  EXPECT_EQ(cut_down(model, {.tensor = 2}, 16, 1, 1).model.key_value_heads, 4);
  EXPECT_EQ(cut_down(model, {.tensor = 2}, 16, 1, 1).model.heads, 16);
  model.heads = 128;
  EXPECT_EQ(cut_down(model, {.tensor = 8}, 16, 1, 1).model.key_value_heads, 8);
  EXPECT_EQ(cut_down(model, {.tensor = 8}, 16, 1, 1).model.heads, 32);
}

TEST(CutDown, RanksThatShareAKeyValueHeadHaveQueriesEach) {
  model::Config model = model::preset("llama-1b");
  model.heads = 96;
  model.key_value_heads = 2;
  const SmallRun run = cut_down(model, {.tensor = 8}, 16, 1, 1);
  EXPECT_EQ(run.model.key_value_heads, 2);
  EXPECT_EQ(run.model.heads, 32);
  EXPECT_THAT(problems(run), IsEmpty());
  model.heads = 64;
  model.key_value_heads = 1;
  EXPECT_EQ(cut_down(model, {.tensor = 64}, 16, 1, 1).model.heads, 64);
}

TEST(CutDown, StagesKeepWhichOfThemHaveMoreLayers) {
  const model::Config model = model::preset("gpt2-124m");  // 12 layers
  const auto split = [&](const parallel::Layout& layout) {
    return cut_down(model, layout, 64, 1, 4).layout.pipeline_split;
  };
  EXPECT_THAT(split({}), ElementsAre(2));
  EXPECT_THAT(split({.pipeline = 3}), ElementsAre(2, 2, 2));
  EXPECT_THAT(split({.pipeline = 12}), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(split({.pipeline = 5}), ElementsAre(2, 2, 1, 1, 1));
  EXPECT_THAT(split({.pipeline = 3, .pipeline_split = {3, 5, 4}}), ElementsAre(1, 2, 2));
}

TEST(CutDown, FewerMicroBatchesThanStagesStayFewer) {
  const model::Config model = model::preset("gpt2-124m");
  EXPECT_EQ(cut_down(model, {.pipeline = 4}, 64, 1, 3).micro_batches, 3);
  EXPECT_EQ(cut_down(model, {.pipeline = 4}, 64, 1, 32).micro_batches, 6);
  EXPECT_EQ(cut_down(model, {}, 64, 8, 1).micro_batch, 2);
  EXPECT_EQ(cut_down(model, {}, 8, 8, 1).sequence_length, 8);
}

}  // namespace
}  // namespace convoy::train
