// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/loader.h"

#include "libcore/base/error.h"
#include "libcore/ops/classifier.h"
#include "tests/unit/train/tiny_run.h"

namespace convoy::train {
namespace {

using testing::ElementsAre;

constexpr std::int32_t kNone = ops::kIgnoredTarget;

std::vector<std::int32_t> values(const tensor::View& view) {
  const auto* data = view.as<std::int32_t>();
  return {data, data + view.count()};
}

data::IndexedDataset open_pair(const TmpDir& folder, const std::vector<std::int32_t>& tokens,
                               const std::vector<std::int32_t>& lengths) {
  write_pair(folder / "pair", tokens, lengths);
  return data::IndexedDataset(folder / "pair", true);
}

TEST(MicroBatch, TargetsAreTheInputsOneFurtherOn) {
  const TmpDir folder;
  const data::IndexedDataset dataset = open_pair(folder, {10, 11, 12, 13, 14, 15, 16}, {7});
  MicroBatch batch(2, 3, false);
  batch.load(0, dataset, 0, {.vocabulary = 20, .document_positions = false, .ignore_after = std::nullopt});
  batch.load(1, dataset, 3, {.vocabulary = 20, .document_positions = false, .ignore_after = std::nullopt});
  EXPECT_THAT(values(batch.batch().tokens), ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_THAT(values(batch.batch().targets), ElementsAre(11, 12, 13, 14, 15, 16));
  EXPECT_EQ(batch.targets(), 6);
  EXPECT_FALSE(batch.batch().positions.present());
}

TEST(MicroBatch, TheTargetAfterAnEndOfTextDoesNotCount) {
  const TmpDir folder;
  const data::IndexedDataset dataset = open_pair(folder, {5, 0, 6, 0}, {4});
  MicroBatch batch(1, 3, false);
  batch.load(0, dataset, 0, {.vocabulary = 20, .document_positions = false, .ignore_after = 0});
  EXPECT_THAT(values(batch.batch().targets), ElementsAre(0, kNone, 0));
  EXPECT_EQ(batch.targets(), 2);
}

TEST(MicroBatch, ATokenWhoseTargetDoesNotCountEndsADocumentOfTokensThatAreOfNoDataSet) {
  MicroBatch batch(1, 5, true);
  const std::vector<std::int32_t> window = {5, 0, 7, 8, 0, 3};
  batch.fill(0, window, {.vocabulary = 20, .document_positions = true, .ignore_after = 0});
  EXPECT_THAT(values(batch.batch().positions), ElementsAre(0, 1, 0, 1, 2));
  EXPECT_THAT(values(batch.batch().targets), ElementsAre(0, kNone, 8, 0, kNone));
}

TEST(MicroBatch, ClearedRowsCountNothing) {
  const TmpDir folder;
  const data::IndexedDataset dataset = open_pair(folder, {5, 6, 7}, {3});
  MicroBatch batch(2, 2, true);
  batch.load(0, dataset, 0, {.vocabulary = 20, .document_positions = true, .ignore_after = std::nullopt});
  batch.clear(0);
  EXPECT_THAT(values(batch.batch().targets), ElementsAre(kNone, kNone, kNone, kNone));
  EXPECT_EQ(batch.targets(), 0);
}

TEST(MicroBatch, RefusesAnIdBeyondTheVocabularyNamingTheToken) {
  const TmpDir folder;
  const data::IndexedDataset dataset = open_pair(folder, {1, 2, 9, 3}, {4});
  MicroBatch batch(1, 3, false);
  try {
    batch.load(0, dataset, 0, {.vocabulary = 9, .document_positions = false, .ignore_after = std::nullopt});
    FAIL() << "id 9 is beyond a vocabulary of 9";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("token 2 is id 9"));
  }
}

TEST(DocumentPositions, RestartWithEveryDocumentAndWithTheWindow) {
  const TmpDir folder;
  const data::IndexedDataset dataset = open_pair(folder, {1, 1, 1, 2, 2, 3, 4, 4}, {3, 2, 1, 2});
  std::vector<std::int32_t> positions(7);
  document_positions(dataset, 0, positions);
  EXPECT_THAT(positions, ElementsAre(0, 1, 2, 0, 1, 0, 0));
  positions.resize(4);
  document_positions(dataset, 1, positions);
  EXPECT_THAT(positions, ElementsAre(0, 1, 0, 1));
}

TEST(GlobalBatch, FillsMicroBatchesWithSamplesInOrder) {
  const TmpDir folder;
  const data::IndexedDataset dataset = open_pair(folder, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {9});
  const data::BlendedSampler sampler({{9, 2, data::DataOrder::kSequential, 0}}, {});
  GlobalBatch batch(2, 1, 2, {.vocabulary = 20, .document_positions = false, .ignore_after = std::nullopt});
  batch.load({&dataset, 1}, sampler, 1);
  EXPECT_THAT(values(batch.micro_batches()[0].batch().tokens), ElementsAre(2, 3));
  EXPECT_THAT(values(batch.micro_batches()[1].batch().tokens), ElementsAre(4, 5));
  EXPECT_EQ(batch.targets(), 4);
}

TEST(GlobalBatch, OfFewerMicroBatchesLeavesTheOthersOut) {
  const TmpDir folder;
  write_pair(folder / "x", random_tokens(101), {101});
  const data::IndexedDataset dataset(folder / "x", true);
  const data::BlendedSampler sampler({{dataset.tokens(), 4, data::DataOrder::kSequential, 0}}, {});
  GlobalBatch batch(3, 2, 4, {.vocabulary = kTinyVocabulary, .document_positions = false, .ignore_after = {}});
  batch.load({&dataset, 1}, sampler, 0);
  EXPECT_EQ(batch.targets(), 24);
  batch.use(1);
  EXPECT_EQ(batch.samples(), 2);
  EXPECT_EQ(batch.micro_batches().size(), 1u);
  EXPECT_EQ(batch.targets(), 8);
  batch.use(3);
  EXPECT_EQ(batch.targets(), 24);
}

// Three of four samples are of the first set; the second set's comes where the first is furthest ahead.
TEST(GlobalBatch, TakesTheSamplesOfABlendFromItsSets) {
  const TmpDir first, second;
  std::vector<data::IndexedDataset> sets;
  sets.push_back(open_pair(first, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {9}));
  sets.push_back(open_pair(second, {10, 11, 12, 13, 14}, {5}));
  const data::BlendedSampler sampler(
      {{9, 2, data::DataOrder::kSequential, 0, 0}, {5, 2, data::DataOrder::kSequential, 0, 1}},
      std::vector<double>{3.0, 1.0});
  GlobalBatch batch(4, 1, 2, {.vocabulary = 20, .document_positions = false, .ignore_after = std::nullopt});
  batch.load(sets, sampler, 0);
  std::vector<std::int32_t> firsts;
  for (const MicroBatch& micro_batch : batch.micro_batches()) firsts.push_back(values(micro_batch.batch().tokens)[0]);
  EXPECT_THAT(firsts, ElementsAre(0, 2, 10, 4));
}

TEST(GlobalBatch, TakesTokensThatAreOfNoDataSet) {
  GlobalBatch batch(2, 1, 2, {.vocabulary = 20, .document_positions = true, .ignore_after = 5});
  batch.fill(std::vector<std::int32_t>{2, 3, 4, 4, 5, 6});
  EXPECT_THAT(values(batch.micro_batches()[0].batch().targets), ElementsAre(3, 4));
  EXPECT_THAT(values(batch.micro_batches()[0].batch().positions), ElementsAre(0, 1));
  EXPECT_THAT(values(batch.micro_batches()[1].batch().tokens), ElementsAre(4, 5));
  EXPECT_EQ(batch.targets(), 3);  // what follows the 5 does not count
}

}  // namespace
}  // namespace convoy::train
