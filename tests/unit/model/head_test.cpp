// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libcore/base/random.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/classifier.h"
#include "tests/unit/model/small_parameters.h"

namespace convoy::model {
namespace {

constexpr std::int64_t kRows = 1100, kVocabulary = 5, kWidth = 3;  // more rows than two blocks of logits

// The stream before the head, 1,100 random rows; every seventh target is ignored.
struct HeadTest : testing::Test {
  device::Stream stream{ops::cpu_backend(), 1};
  Config config;
  std::unique_ptr<Parameters> parameters;
  tensor::Tensor targets{{kRows}, tensor::DType::kI32};
  MicroBatch micro{.batch = 1, .sequence = kRows, .tokens = {}, .targets = targets.view(), .positions = {}};
  Workspace workspace;
  Buffers buffers;
  HeadActivations saved;

  Head make(bool tied) {
    config.vocabulary = kVocabulary;
    config.width = kWidth;
    config.heads = config.key_value_heads = config.head_size = config.ffn_width = config.layers = 1;
    config.tied_embeddings = tied;
    const std::string classifier = tied ? "model.embed_tokens.weight" : "lm_head.weight";
    parameters =
        std::make_unique<Parameters>(std::vector<Parameter>{{.name = classifier, .shape = {kVocabulary, kWidth}},
                                                            {.name = "model.norm.weight", .shape = {kWidth}}},
                                     tensor::DType::kF32, true);
    for (std::uint64_t i = 0; i < kVocabulary * kWidth; ++i) parameters->weight(0).as<float>()[i] = normal_at(1, i);
    set(parameters->weight(1), {1, 1, 1});
    plan(workspace, buffers, config, kRows, kRows, false, tensor::DType::kF32, true);
    plan(workspace, saved, config, kRows, tensor::DType::kF32, ModelSize{});
    workspace.allocate();
    for (std::uint64_t i = 0; i < kRows * kWidth; ++i) saved.norms[0].sum.as<float>()[i] = normal_at(2, i);
    for (std::int32_t i = 0; i < kRows; ++i)
      targets.as<std::int32_t>()[i] = i % 7 == 0 ? ops::kIgnoredTarget : i % kVocabulary;
    Head head = make_head(stream, config, *parameters);
    pack(stream, head.classifier);
    forward_norm(stream, head, micro, {}, saved);
    return head;
  }
};

// Loss and gradients in double, row by row.
struct Expected {
  double loss = 0.0;
  std::vector<double> dweight = std::vector<double>(kVocabulary * kWidth);
};
Expected expected_of(const HeadTest& test, double scale) {
  Expected expected;
  const auto* w = test.parameters->weight(0).as<float>();
  for (std::int64_t row = 0; row < kRows; ++row) {
    const auto target = test.targets.as<std::int32_t>()[row];
    if (target == ops::kIgnoredTarget) continue;
    const auto* y = test.saved.norms[0].y.as<float>() + row * kWidth;
    double logits[kVocabulary] = {}, sum = 0.0;
    for (std::int64_t v = 0; v < kVocabulary; ++v) {
      for (std::int64_t c = 0; c < kWidth; ++c) logits[v] += static_cast<double>(w[v * kWidth + c]) * y[c];
      sum += std::exp(logits[v]);
    }
    expected.loss += std::log(sum) - logits[target];
    for (std::int64_t v = 0; v < kVocabulary; ++v) {
      const double dlogit = scale * (std::exp(logits[v]) / sum - (v == target ? 1.0 : 0.0));
      for (std::int64_t c = 0; c < kWidth; ++c)
        expected.dweight[static_cast<std::size_t>(v * kWidth + c)] += dlogit * y[c];
    }
  }
  return expected;
}

TEST_F(HeadTest, TheLossOfManyBlocksIsTheSumOverTheirRows) {
  const Head head = make(false);
  ASSERT_GT(kRows, 2 * saved.logits.rows());
  const LossSum loss = forward_loss(stream, head, micro, buffers, saved);
  EXPECT_EQ(loss.targets, kRows - (kRows + 6) / 7);
  EXPECT_NEAR(loss.sum, expected_of(*this, 1.0).loss, 1e-6 * loss.sum);
}

TEST_F(HeadTest, BackwardAddsTheClassifiersGradientOfAllBlocks) {
  for (const bool tied : {false, true}) {
    workspace = Workspace();
    const Head head = make(tied);
    const LossSum loss = forward_backward_loss(stream, head, micro, 0.25f, buffers, saved, buffers.dx);
    const Expected expected = expected_of(*this, 0.25);
    EXPECT_NEAR(loss.sum, expected.loss, 1e-6 * loss.sum);
    for (std::size_t i = 0; i < expected.dweight.size(); ++i) {
      EXPECT_NEAR(parameters->gradient(0).as<float>()[i], expected.dweight[i], 1e-4) << i;  // sums of 1,100 fp32 terms
    }
  }
}

TEST_F(HeadTest, RowsThatDoNotCountHaveNoGradient) {
  const Head head = make(false);
  forward_backward_loss(stream, head, micro, 1.0f, buffers, saved, buffers.dx);
  for (std::int64_t c = 0; c < kWidth; ++c) {
    EXPECT_EQ(buffers.dx.as<float>()[7 * kWidth + c], 0.0f);
    EXPECT_NE(buffers.dx.as<float>()[8 * kWidth + c], 0.0f);
  }
}

TEST_F(HeadTest, TheLogitsOfARowAreItsProductWithTheClassifier) {
  const Head head = make(false);
  tensor::Tensor logits({kVocabulary}, tensor::DType::kF32);
  forward_logits(stream, head, saved, 1050, logits.mutable_view());
  const auto* y = saved.norms[0].y.as<float>() + 1050 * kWidth;
  for (std::int64_t v = 0; v < kVocabulary; ++v) {
    double expected = 0.0;
    for (std::int64_t c = 0; c < kWidth; ++c)
      expected += static_cast<double>(parameters->weight(0).as<float>()[v * kWidth + c]) * y[c];
    EXPECT_NEAR(logits.as<float>()[v], expected, 1e-5);
  }
}

}  // namespace
}  // namespace convoy::model
