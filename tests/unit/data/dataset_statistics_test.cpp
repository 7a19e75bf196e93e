// SPDX-License-Identifier: Apache-2.0
#include "libcore/data/dataset_statistics.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <map>

#include "golden.h"
#include "libcore/base/error.h"
#include "libcore/data/dataset_writer.h"

namespace convoy::data {
namespace {

using golden::TemporaryFolder;

constexpr double kExact = 1e-12;   // sums of a few logarithms in double
constexpr double kSummed = 1e-9;   // sums of 1e5 logarithms in another order

IndexedDataset written(const TemporaryFolder& folder, const char* name, const std::vector<std::vector<std::int32_t>>& documents) {
  DatasetWriter writer(folder / name, TokenType::kU16);
  for (const auto& document : documents) writer.add(document);
  writer.commit([](const PairSums&) { return std::string("{}"); });
  uncommit(folder / name);
  return IndexedDataset(folder / name, true);
}

TEST(CrossEntropy, EqualsTheFormulaOnAHandfulOfTokens) {
  const TemporaryFolder folder;
  const IndexedDataset counted = written(folder, "a", {{0, 1, 0}, {1, 1}});  // stream 0 1 0 1 1
  const IndexedDataset measured = written(folder, "b", {{0, 1, 2}});         // targets 1 after 0, 2 after 1
  const CrossEntropy entropy = cross_entropy(counted, measured, 3);
  EXPECT_EQ(entropy.tokens, 2);
  // c(1) = 3, c(2) = 0, N = 5; c(0 1) = 2 of c(0 .) = 2; c(1 2) = 0 of c(1 .) = 2 (the last token has no successor).
  EXPECT_NEAR(entropy.unigram, -(std::log(3.1 / 5.3) + std::log(0.1 / 5.3)) / 2, kExact);
  EXPECT_NEAR(entropy.bigram, -(std::log(2.1 / 2.3) + std::log(0.1 / 2.3)) / 2, kExact);
}

TEST(CrossEntropy, DoesNotDependOnTheNumberOfPasses) {
  const IndexedDataset dataset(golden::folder() / "megatron" / "bpe-u16", true);
  const CrossEntropy one = cross_entropy(dataset, dataset, 800);
  const CrossEntropy many = cross_entropy(dataset, dataset, 800, 1000);
  EXPECT_EQ(one.unigram, many.unigram);
  EXPECT_NEAR(one.bigram, many.bigram, kSummed);
  EXPECT_LT(one.bigram, one.unigram);
  EXPECT_LT(one.unigram, std::log(800.0));
}

TEST(CrossEntropy, EqualsPlainCountingOfAGoldenPair) {
  const IndexedDataset dataset(golden::folder() / "megatron" / "uni-u16", true);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(dataset.tokens()));
  dataset.read(0, ids);
  std::map<std::pair<int, int>, double> pairs;
  std::map<int, double> singles, before;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    singles[ids[i]] += 1;
    if (i > 0) pairs[{ids[i - 1], ids[i]}] += 1;
    if (i > 0) before[ids[i - 1]] += 1;
  }
  double unigram = 0, bigram = 0;
  for (std::size_t i = 1; i < ids.size(); ++i) {
    unigram -= std::log((singles[ids[i]] + 0.1) / (static_cast<double>(ids.size()) + 70.0));
    bigram -= std::log((pairs[{ids[i - 1], ids[i]}] + 0.1) / (before[ids[i - 1]] + 70.0));
  }
  const CrossEntropy entropy = cross_entropy(dataset, dataset, 700);
  EXPECT_NEAR(entropy.unigram, unigram / static_cast<double>(ids.size() - 1), kSummed);
  EXPECT_NEAR(entropy.bigram, bigram / static_cast<double>(ids.size() - 1), kSummed);
}

TEST(LengthStatistics, ArePercentilesByNearestRank) {
  const TemporaryFolder folder;
  std::vector<std::vector<std::int32_t>> documents;
  for (std::size_t n = 10; n >= 1; --n) documents.emplace_back(n * 10, 1);  // lengths 10, 20, ..., 100
  const LengthStatistics lengths = length_statistics(written(folder, "x", documents));
  EXPECT_EQ(lengths.least, 10);
  EXPECT_EQ(lengths.median, 50);
  EXPECT_EQ(lengths.p90, 90);
  EXPECT_EQ(lengths.p99, 100);
  EXPECT_EQ(lengths.most, 100);
  EXPECT_EQ(lengths.mean, 55.0);
}

TEST(LengthStatistics, BinsDoubleFromTheShortestToTheLongest) {
  const TemporaryFolder folder;
  std::vector<std::vector<std::int32_t>> documents;
  for (const std::size_t length : {1, 2, 3, 3, 4, 16, 31, 32}) documents.emplace_back(length, 1);
  const std::vector<LengthBin> bins = length_statistics(written(folder, "x", documents)).bins;
  const std::vector<std::array<std::int64_t, 3>> expected = {{1, 1, 1}, {2, 3, 3}, {4, 7, 1}, {8, 15, 0}, {16, 31, 2}, {32, 63, 1}};
  ASSERT_EQ(bins.size(), expected.size());
  for (std::size_t i = 0; i < bins.size(); ++i) EXPECT_EQ((std::array{bins[i].first, bins[i].last, bins[i].documents}), expected[i]) << i;
  EXPECT_EQ(length_statistics(written(folder, "y", {std::vector<std::int32_t>(5, 1)})).bins.at(0).first, 4);
}

TEST(TokenFrequencies, CountEveryIdOfTheStreamTheMostFrequentFirst) {
  const TemporaryFolder folder;
  // 7 three times, 0 twice, 3 and 9 once: the last id of the stream, too.
  const IndexedDataset dataset = written(folder, "x", {{7, 0, 7}, {3, 0}, {7, 9}});
  const TokenFrequencies frequencies = token_frequencies(dataset);
  EXPECT_THAT(frequencies.falling, testing::ElementsAre(Frequency{3, 1}, Frequency{2, 1}, Frequency{1, 2}));
  EXPECT_EQ(frequencies.distinct, 4);
  EXPECT_EQ(token_frequencies(dataset, 2).falling, frequencies.falling) << "a table of two ids is filled several times";
}

TEST(CrossEntropy, CountsIdsAsLargeAsTheTypeHolds) {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "x", TokenType::kI32);
  writer.add(std::vector<std::int32_t>{2147483647, 0, 2147483647, 5});
  writer.commit([](const PairSums&) { return std::string("{}"); });
  uncommit(folder / "x");
  const IndexedDataset dataset(folder / "x", true);
  EXPECT_THAT(token_frequencies(dataset).falling, testing::ElementsAre(Frequency{2, 1}, Frequency{1, 2}));
  const CrossEntropy entropy = cross_entropy(dataset, dataset, std::int64_t{1} << 31);
  // N = 4, V = 2^31: c = 1, 2, 1 of the targets, each pair once; 2147483647 is a predecessor twice.
  const double v = 0.1 * 2147483648.0;
  EXPECT_NEAR(entropy.unigram, -(std::log(1.1 / (4 + v)) + std::log(2.1 / (4 + v)) + std::log(1.1 / (4 + v))) / 3, kExact);
  EXPECT_NEAR(entropy.bigram, -(2 * std::log(1.1 / (2 + v)) + std::log(1.1 / (1 + v))) / 3, kExact);
}

TEST(SharedVocabulary, IsTheLargestIdPlusOneWithoutMetadata) {
  const TemporaryFolder folder;
  const IndexedDataset a = written(folder, "a", {{3, 7}}), b = written(folder, "b", {{9}});
  EXPECT_EQ(shared_vocabulary(a, b), 10);
}

}  // namespace
}  // namespace convoy::data
