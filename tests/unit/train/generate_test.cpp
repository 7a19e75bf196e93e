// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/generate.h"

#include <array>
#include <limits>
#include <set>

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/train/weights.h"
#include "tests/unit/train/tiny_run.h"

namespace convoy::train {
namespace {

constexpr std::array<float, 4> kLogits = {0.0f, 2.0f, 1.0f, 2.0f};

TEST(ChooseToken, TemperatureZeroTakesTheLikeliestAndTheLowerIdOfEquals) {
  EXPECT_EQ(choose_token(kLogits, 0.0, 0, 0.999), 1);
}

TEST(ChooseToken, TopOneIsTheLikeliestWhateverTheNumber) { EXPECT_EQ(choose_token(kLogits, 1.0, 1, 0.999), 1); }

// Probabilities in order 1, 3, 2, 0 at temperature 1: e^2 : e^2 : e : 1 = 0.3995, 0.3995, 0.1470, 0.0541.
TEST(ChooseToken, FollowsTheProbabilities) {
  EXPECT_EQ(choose_token(kLogits, 1.0, 0, 0.399), 1);
  EXPECT_EQ(choose_token(kLogits, 1.0, 0, 0.400), 3);
  EXPECT_EQ(choose_token(kLogits, 1.0, 0, 0.798), 3);
  EXPECT_EQ(choose_token(kLogits, 1.0, 0, 0.800), 2);
  EXPECT_EQ(choose_token(kLogits, 1.0, 0, 0.945), 2);
  EXPECT_EQ(choose_token(kLogits, 1.0, 0, 0.947), 0);
}

TEST(ChooseToken, NeverLeavesTheTopK) {
  for (double uniform = 0.0; uniform < 1.0; uniform += 0.05) EXPECT_NE(choose_token(kLogits, 5.0, 3, uniform), 0);
}

TEST(SamplingUniform, IsAFunctionOfSeedAndIndexInTheUnitInterval) {
  std::set<double> seen;
  for (std::int64_t i = 0; i < 100; ++i) {
    const double u = sampling_uniform(7, i);
    EXPECT_EQ(u, sampling_uniform(7, i));
    EXPECT_GE(u, 0.0);
    EXPECT_LT(u, 1.0);
    seen.insert(u);
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_NE(sampling_uniform(7, 0), sampling_uniform(8, 0));
}

class Generation : public testing::Test {
 protected:
  Generation() { write_tiny_folder(folder_ / "hf"); }

  std::vector<std::int32_t> run(const SamplingOptions& options, std::vector<std::int32_t> tokens = {1, 2, 3}) {
    checkpoint::WeightSource source(folder_ / "hf");
    Generator generator(source, tensor::DType::kF32, 1);
    generator.generate(tokens, kTinyVocabulary, options, [](std::int32_t) { return true; });
    return tokens;
  }

  TmpDir folder_;
};

TEST_F(Generation, TheSameSeedGivesTheSameTokens) {
  const SamplingOptions options{.max_tokens = 10, .temperature = 1.0, .top_k = 0, .seed = 5};
  const std::vector<std::int32_t> tokens = run(options);
  EXPECT_EQ(tokens.size(), 13u);
  EXPECT_EQ(run(options), tokens);
  EXPECT_NE(run({.max_tokens = 10, .temperature = 1.0, .top_k = 0, .seed = 6}), tokens);
}

// The model has 16 positions: 30 tokens more do not fit into its window.
TEST_F(Generation, GoesOnBeyondTheModelsPositions) {
  EXPECT_EQ(run({.max_tokens = 30, .temperature = 1.0, .top_k = 0, .seed = 1}).size(), 33u);
}

TEST_F(Generation, OnlyTheWindowMattersBeyondThePositions) {
  std::vector<std::int32_t> old(20, 4), other(20, 4);
  other[0] = 9;  // out of the window of 16
  const SamplingOptions options{.max_tokens = 1, .temperature = 0.0, .top_k = 0, .seed = 1};
  EXPECT_EQ(run(options, old).back(), run(options, other).back());
}

TEST_F(Generation, RefusesAModelWhoseLogitsAreNotNumbers) {
  write_tiny_folder(folder_ / "damaged", "model.embed_tokens.weight", 16, std::numeric_limits<float>::quiet_NaN());
  checkpoint::WeightSource source(folder_ / "damaged");
  Generator generator(source, tensor::DType::kF32, 1);
  std::vector<std::int32_t> tokens = {1};
  EXPECT_THROW(generator.generate(tokens, kTinyVocabulary, {}, [](std::int32_t) { return true; }), NumericsError);
}

TEST_F(Generation, StopsWhenToldTo) {
  checkpoint::WeightSource source(folder_ / "hf");
  Generator generator(source, tensor::DType::kF32, 1);
  std::vector<std::int32_t> tokens = {1};
  generator.generate(tokens, kTinyVocabulary, {}, [&](std::int32_t) { return tokens.size() < 4; });
  EXPECT_EQ(tokens.size(), 4u);
}

// The likeliest tokens of this model stand out by more than rounding.
TEST_F(Generation, TheLikeliestTokensAreTheSameInEveryPrecision) {
  std::vector<std::vector<std::int32_t>> texts;
  for (const tensor::DType dtype : {tensor::DType::kF32, tensor::DType::kBF16, tensor::DType::kF16}) {
    checkpoint::WeightSource source(folder_ / "hf");
    Generator generator(source, dtype, 1);
    std::vector<std::int32_t>& tokens = texts.emplace_back(1, 1);
    generator.generate(tokens, kTinyVocabulary, {.max_tokens = 4, .temperature = 0.0, .top_k = 0, .seed = 1},
                       [](std::int32_t) { return true; });
  }
  EXPECT_EQ(texts[0].size(), 5u);
  EXPECT_EQ(texts[1], texts[0]);
  EXPECT_EQ(texts[2], texts[0]);
}

TEST_F(Generation, ChoosesBelowTheTokenizersVocabularyOnly) {
  checkpoint::WeightSource source(folder_ / "hf");
  Generator generator(source, tensor::DType::kF32, 1);
  std::vector<std::int32_t> tokens = {1};
  generator.generate(tokens, 3, {.max_tokens = 20, .temperature = 5.0, .top_k = 0, .seed = 1}, [](std::int32_t id) {
    EXPECT_LT(id, 3);
    return true;
  });
}

}  // namespace
}  // namespace convoy::train
