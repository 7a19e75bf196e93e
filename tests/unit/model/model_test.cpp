// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "libcore/base/error.h"
#include "libcore/base/random.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/classifier.h"
#include "libcore/ops/cpu/onednn_products.h"
#include "libcore/tensor/tensor.h"
#include "tests/unit/model/forward_backward.h"
#include "tests/unit/ops/allocation_counter.h"

namespace convoy::model {
namespace {

using tensor::DType;
using tensor::MutableView;
using tensor::Tensor;
using testing::HasSubstr;

constexpr std::int64_t kBatch = 2, kSequence = 7;

// Extents that are no multiple of a vector and differ from each other; weights large enough for every part to matter.
Config tiny(Architecture architecture, bool tied) {
  Config c;
  c.architecture = architecture;
  c.vocabulary = 13;
  c.layers = 2;
  c.width = 12;
  c.heads = 3;
  c.head_size = 4;
  c.key_value_heads = architecture == Architecture::kGpt2 ? 3 : 1;
  c.ffn_width = 10;
  c.positions = kSequence + 1;
  c.tied_embeddings = tied;
  c.attention_bias = c.mlp_bias = true;
  c.initializer_range = 0.5;
  return c;
}

struct Data {
  Tensor tokens{{kBatch, kSequence}, DType::kI32}, targets{{kBatch, kSequence}, DType::kI32},
      positions{{kBatch, kSequence}, DType::kI32};

  explicit Data(const Config& config) {
    for (std::int64_t i = 0; i < kBatch * kSequence; ++i) {
      tokens.as<std::int32_t>()[i] = static_cast<std::int32_t>((i * 5 + 3) % config.vocabulary);
      targets.as<std::int32_t>()[i] = static_cast<std::int32_t>((i * 7 + 1) % config.vocabulary);
      positions.as<std::int32_t>()[i] =
          static_cast<std::int32_t>(i % kSequence < 3 ? i % kSequence : i % kSequence - 3);
    }
    targets.as<std::int32_t>()[4] = ops::kIgnoredTarget;
  }
  Batch batch(bool documents = false) const {
    return {
        .tokens = tokens.view(), .targets = targets.view(), .positions = documents ? positions.view() : tensor::View{}};
  }
  Batch masked_batch(bool documents = false, const DropoutDraw& draw = {.seed = 5, .step = 2, .first_slot = 6}) const {
    Batch masked = batch(documents);
    masked.dropout = draw;
    return masked;
  }
};

struct TinyModel {
  TinyModel(const Config& model_config, DType dtype, int threads, bool training = true)
      : config(model_config),
        stream(ops::cpu_backend(), threads),
        parameters(parameter_table(config), dtype, training),
        model(stream, config, parameters, kBatch, kSequence, training),
        data(config) {
    for (std::size_t i = 0; i < parameters.size(); ++i) fill(i);
    model.pack(stream);
  }
  // Random everywhere, norms and biases too, so that no part is hidden by a 1 or a 0.
  void fill(std::size_t i) {
    const MutableView weight = parameters.weight(i);
    const std::uint64_t key = stream_key(11, parameters.table()[i].name);
    for (std::int64_t j = 0; j < weight.count(); ++j) {
      const float value = 0.3f * normal_at(key, static_cast<std::uint64_t>(j)) +
                          (parameters.table()[i].init == Init::kOne ? 1.0f : 0.0f);
      if (weight.dtype == DType::kF32) weight.as<float>()[j] = value;
      if (weight.dtype == DType::kBF16) weight.as<tensor::Bf16>()[j] = tensor::to_bf16(value);
    }
  }
  std::vector<float> gradients() const {
    std::vector<float> all;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto* values = parameters.gradient(i).as<float>();
      all.insert(all.end(), values, values + parameters.gradient(i).count());
    }
    return all;
  }

  Config config;
  device::Stream stream;
  Parameters parameters;
  Model model;
  Data data;
};

struct Choice {
  const char* name;
  Architecture architecture;
  bool tied;
  bool documents;
  double dropout = 0.0;
};

class ModelGradient : public testing::TestWithParam<Choice> {};

// Along the gradient itself the slope of the loss is the gradient's length; a gradient that is wrong has another slope.
TEST_P(ModelGradient, IsTheSlopeOfTheLoss) {
  constexpr double kStep = 5e-3;  // truncation falls with its square, fp32 rounding of the loss grows with its inverse
  constexpr double kTolerance = 5e-3;  // relative
  Config config = tiny(GetParam().architecture, GetParam().tied);
  set_dropout(config, GetParam().dropout);
  TinyModel s(config, DType::kF32, 1);
  const Batch batch = s.data.masked_batch(GetParam().documents);
  forward_backward(s.model, s.stream, batch, 1.0f);
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    const std::string& name = s.parameters.table()[i].name;
    const auto count = static_cast<std::size_t>(s.parameters.weight(i).count());
    auto* weight = s.parameters.weight(i).as<float>();
    const auto* gradient = s.parameters.gradient(i).as<float>();
    const std::vector<float> original(weight, weight + count);
    double length = 0.0;
    for (std::size_t j = 0; j < count; ++j) length += static_cast<double>(gradient[j]) * gradient[j];
    length = std::sqrt(length);
    if (name.ends_with("k_attn.bias") || length < 1e-3) {
      // A key bias adds one number to all scores of a query, which the softmax removes.
      EXPECT_LT(length, 1e-4) << name;
      EXPECT_THAT(name, testing::AnyOf(HasSubstr("k_attn.bias"), HasSubstr("k_proj.bias"))) << "has no gradient";
      continue;
    }
    const auto loss_at = [&](double step) {
      for (std::size_t j = 0; j < count; ++j) weight[j] = static_cast<float>(original[j] + step * gradient[j] / length);
      s.model.pack(s.stream);
      return s.model.evaluate(s.stream, batch).sum;
    };
    const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2.0 * kStep);
    EXPECT_NEAR(slope / length, 1.0, kTolerance) << name << ", length " << length;
    loss_at(0.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Choices, ModelGradient,
                         testing::Values(Choice{"gpt2_tied", Architecture::kGpt2, true, false},
                                         Choice{"gpt2_untied_documents", Architecture::kGpt2, false, true},
                                         Choice{"llama_tied_documents", Architecture::kLlama, true, true},
                                         Choice{"llama_untied", Architecture::kLlama, false, false},
                                         Choice{"gpt2_dropout", Architecture::kGpt2, true, false, 0.2},
                                         Choice{"gpt2_dropout_documents", Architecture::kGpt2, false, true, 0.5},
                                         Choice{"llama_dropout", Architecture::kLlama, true, false, 0.3}),
                         [](const auto& test) { return test.param.name; });

class ModelOf : public testing::TestWithParam<Architecture> {};

TEST_P(ModelOf, AddsItsGradientsAndScalesThem) {
  TinyModel s(tiny(GetParam(), true), DType::kF32, 1);
  forward_backward(s.model, s.stream, s.data.batch(), 1.0f);
  const std::vector<float> once = s.gradients();
  forward_backward(s.model, s.stream, s.data.batch(), 0.5f);
  const std::vector<float> more = s.gradients();
  for (std::size_t i = 0; i < once.size(); ++i)
    ASSERT_NEAR(more[i], 1.5f * once[i], 1e-5f + 1e-5f * std::abs(once[i])) << i;
}

TEST_P(ModelOf, RepeatsItselfToTheBitWithOneAndWithTwoThreads) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const int threads : {1, 2}) {
      TinyModel a(tiny(GetParam(), false), dtype, threads), b(tiny(GetParam(), false), dtype, threads);
      EXPECT_EQ(forward_backward(a.model, a.stream, a.data.batch(), 1.0f).sum,
                forward_backward(b.model, b.stream, b.data.batch(), 1.0f).sum);
      EXPECT_EQ(a.gradients(), b.gradients()) << threads << " threads";
      a.parameters.zero_gradients(a.stream);
      forward_backward(a.model, a.stream, a.data.batch(), 1.0f);
      EXPECT_EQ(a.gradients(), b.gradients()) << threads << " threads, second time";
    }
  }
}

TEST_P(ModelOf, TwoThreadsComputeWhatOneDoesUpToRounding) {
  TinyModel one(tiny(GetParam(), false), DType::kF32, 1), two(tiny(GetParam(), false), DType::kF32, 2);
  forward_backward(one.model, one.stream, one.data.batch(), 1.0f);
  forward_backward(two.model, two.stream, two.data.batch(), 1.0f);
  const std::vector<float> a = one.gradients(), b = two.gradients();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5f + 1e-5f * std::abs(a[i])) << i;
}

TEST_P(ModelOf, EvaluationDoesNotChangeTraining) {
  TinyModel with(tiny(GetParam(), true), DType::kF32, 1), without(tiny(GetParam(), true), DType::kF32, 1);
  Tensor logits({with.config.vocabulary}, DType::kF32);
  const double first = forward_backward(with.model, with.stream, with.data.batch(), 1.0f).sum;
  EXPECT_EQ(with.model.evaluate(with.stream, with.data.batch()).sum, first);
  with.model.evaluate(with.stream, with.data.batch(true));
  with.model.logits(with.stream, with.data.batch(), 3, logits.mutable_view());
  forward_backward(with.model, with.stream, with.data.batch(), 1.0f);
  forward_backward(without.model, without.stream, without.data.batch(), 1.0f);
  forward_backward(without.model, without.stream, without.data.batch(), 1.0f);
  EXPECT_EQ(with.gradients(), without.gradients());
}

TEST_P(ModelOf, ForEvaluationAloneComputesTheSameLossInLessMemory) {
  TinyModel training(tiny(GetParam(), true), DType::kF32, 1), evaluation(tiny(GetParam(), true), DType::kF32, 1, false);
  EXPECT_EQ(training.model.evaluate(training.stream, training.data.batch()).sum,
            evaluation.model.evaluate(evaluation.stream, evaluation.data.batch()).sum);
  EXPECT_LT(evaluation.model.activation_bytes(), training.model.activation_bytes());
  EXPECT_THROW(forward_backward(evaluation.model, evaluation.stream, evaluation.data.batch(), 1.0f), InternalError);
}

TEST_P(ModelOf, TheLossIsTheMeanOfTheLogitsCrossEntropy) {
  TinyModel s(tiny(GetParam(), true), DType::kF32, 1);
  Tensor logits({s.config.vocabulary}, DType::kF32);
  double expected = 0.0;
  for (std::int64_t row = 0; row < kBatch * kSequence; ++row) {
    const std::int32_t target = s.data.targets.as<std::int32_t>()[row];
    if (target == ops::kIgnoredTarget) continue;
    s.model.logits(s.stream, s.data.batch(), row, logits.mutable_view());
    double sum = 0.0;
    for (std::int64_t v = 0; v < s.config.vocabulary; ++v) sum += std::exp(static_cast<double>(logits.as<float>()[v]));
    expected += std::log(sum) - logits.as<float>()[target];
  }
  const LossSum loss = s.model.evaluate(s.stream, s.data.batch());
  EXPECT_EQ(loss.targets, kBatch * kSequence - 1);
  EXPECT_NEAR(loss.sum, expected, 1e-5 * expected);
}

TEST_P(ModelOf, AShorterBatchIsAPrefixOfTheLonger) {
  TinyModel s(tiny(GetParam(), true), DType::kF32, 1);
  Tensor longer({s.config.vocabulary}, DType::kF32), shorter({s.config.vocabulary}, DType::kF32);
  s.model.logits(s.stream, s.data.batch(), 4, longer.mutable_view());
  const Batch prefix{.tokens = {s.data.tokens.as<std::int32_t>(), DType::kI32, {1, 5}}, .targets = {}, .positions = {}};
  s.model.logits(s.stream, prefix, 4, shorter.mutable_view());
  for (std::int64_t v = 0; v < s.config.vocabulary; ++v) {
    EXPECT_NEAR(shorter.as<float>()[v], longer.as<float>()[v], 1e-5f + 1e-5f * std::abs(longer.as<float>()[v]));
  }
}

TEST_P(ModelOf, ASteadyStepAllocatesNothing) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    // oneDNN's execute allocates a few small objects of its own.
    if (dtype == DType::kBF16 && ops::cpu::has_bf16_products()) continue;
    TinyModel s(tiny(GetParam(), false), dtype, 2);
    const auto step = [&] {
      s.model.pack(s.stream);
      s.parameters.zero_gradients(s.stream);
      forward_backward(s.model, s.stream, s.data.batch(true), 1.0f);
      s.model.evaluate(s.stream, s.data.batch());
    };
    step();
    s.stream.seal_scratch();
    const std::int64_t before = ops::test::allocation_count();
    step();
    EXPECT_EQ(ops::test::allocation_count(), before);
  }
}

TEST_P(ModelOf, RefusesIdsThatWouldReadOutsideATable) {
  TinyModel s(tiny(GetParam(), true), DType::kF32, 1);
  const auto refusal = [&](Tensor& values, std::int64_t index, std::int32_t wrong) {
    std::swap(values.as<std::int32_t>()[index], wrong);
    std::string text = "accepted";
    try {
      s.model.evaluate(s.stream, s.data.batch(true));
    } catch (const DataError& error) {
      text = error.what();
    }
    std::swap(values.as<std::int32_t>()[index], wrong);
    return text;
  };
  EXPECT_THAT(refusal(s.data.tokens, 9, 13),
              testing::AllOf(HasSubstr("token id 13 at sequence 1, position 2"), HasSubstr("vocabulary of 13")));
  EXPECT_THAT(refusal(s.data.tokens, 0, -1), HasSubstr("token id -1"));
  EXPECT_THAT(refusal(s.data.targets, 1, 13), HasSubstr("target id 13"));
  EXPECT_THAT(refusal(s.data.positions, 0, 1), HasSubstr("position 1"));
  EXPECT_EQ(refusal(s.data.targets, 1, ops::kIgnoredTarget), "accepted");
}

INSTANTIATE_TEST_SUITE_P(Both, ModelOf, testing::Values(Architecture::kGpt2, Architecture::kLlama),
                         [](const auto& test) { return test.param == Architecture::kGpt2 ? "gpt2" : "llama"; });

TEST(Model, RefusesMoreTokensThanPositions) {
  const Config config = tiny(Architecture::kGpt2, true);
  device::Stream stream(ops::cpu_backend(), 1);
  Parameters parameters(parameter_table(config), DType::kF32, false);
  EXPECT_THROW(Model(stream, config, parameters, 1, config.positions + 1, false), ConfigError);
}

TEST(Model, TrainsWithDropoutOnlyIfItIsToldWhatMasksAreDrawnFrom) {
  Config config = tiny(Architecture::kGpt2, true);
  set_dropout(config, 0.1);
  TinyModel s(config, DType::kF32, 1);
  EXPECT_THROW(forward_backward(s.model, s.stream, s.data.batch(), 1.0f), InternalError);
  EXPECT_NO_THROW(forward_backward(s.model, s.stream, s.data.masked_batch(), 1.0f));
}

// Each rate by itself: a place that does not drop, or drops alike in another step, slot or seed, shows.
TEST(Model, EachOfItsRatesDropsOtherValuesInOtherStepsSlotsAndSeeds) {
  for (const DropoutRates& rates :
       {DropoutRates{.embedding = 0.3}, DropoutRates{.attention = 0.3}, DropoutRates{.residual = 0.3}}) {
    Config config = tiny(Architecture::kGpt2, true);
    config.dropout = rates;
    TinyModel s(config, DType::kF32, 1);
    const auto loss = [&](const DropoutDraw& draw) {
      return s.model.evaluate(s.stream, s.data.masked_batch(false, draw)).sum;
    };
    const double first = loss({.seed = 5, .step = 2, .first_slot = 6});
    EXPECT_EQ(loss({.seed = 5, .step = 2, .first_slot = 6}), first);
    EXPECT_NE(loss({.seed = 6, .step = 2, .first_slot = 6}), first);
    EXPECT_NE(loss({.seed = 5, .step = 3, .first_slot = 6}), first);
    EXPECT_NE(loss({.seed = 5, .step = 2, .first_slot = 7}), first);
    EXPECT_NE(s.model.evaluate(s.stream, s.data.batch()).sum, first);
  }
}

TEST(Model, EvaluationDropsNothing) {
  Config config = tiny(Architecture::kGpt2, true);
  TinyModel without(config, DType::kF32, 1);
  set_dropout(config, 0.4);
  TinyModel with(config, DType::kF32, 1);
  EXPECT_EQ(with.model.evaluate(with.stream, with.data.batch()).sum,
            without.model.evaluate(without.stream, without.data.batch()).sum);
}

// A fresh model predicts nothing: its loss is near ln V + C std^2 / 2 (the variance of its logits).
TEST(Model, AFreshModelsLossIsNearLnV) {
  Config config = tiny(Architecture::kLlama, true);
  config.vocabulary = 997;
  config.width = 48;
  config.head_size = 16;
  config.initializer_range = 0.02;
  TinyModel s(config, DType::kF32, 1);
  for (std::size_t i = 0; i < s.parameters.size(); ++i)
    initial_values(s.parameters.table()[i], 5, s.stream, s.parameters.weight(i));
  s.model.pack(s.stream);
  const LossSum loss = s.model.evaluate(s.stream, s.data.batch());
  EXPECT_NEAR(loss.sum / static_cast<double>(loss.targets), std::log(997.0) + 48 * 0.02 * 0.02 / 2, 0.1);
}

}  // namespace
}  // namespace convoy::model
