// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libcore/ops/backend.h"
#include "tests/unit/model/small_parameters.h"

namespace convoy::model {
namespace {

using testing::FloatNear;
using testing::Pointwise;

constexpr float kRounding = 1e-6f;  // a few fp32 operations on values of order 1

struct NormTest : testing::Test {
  device::Stream stream{ops::cpu_backend(), 1};
  Parameters parameters{
      {{.name = "n.weight", .shape = {2}}, {.name = "n.bias", .shape = {2}}}, tensor::DType::kF32, true};
  MicroBatch micro{.batch = 1, .sequence = 1, .tokens = {}, .targets = {}, .positions = {}};
  Config config;
  Workspace workspace;
  NormActivations saved;

  Norm make(Architecture architecture) {
    config.architecture = architecture;
    config.width = 2;
    config.norm_epsilon = 0.0;
    set(parameters.weight(0), {2, 3});
    set(parameters.weight(1), {10, 20});
    ActivationPlan activations(workspace);
    plan(activations, saved, config, 4, tensor::DType::kF32);
    workspace.allocate();
    return make_norm(parameters, config, "n");
  }
};

TEST_F(NormTest, LlamasAddsTheBranchAndDividesByTheRootMeanSquare) {
  const Norm norm = make(Architecture::kLlama);
  const tensor::Tensor residual = tensor_of({1, 2}, {1, 0}), branch = tensor_of({1, 2}, {2, 4});
  forward(stream, norm, micro, residual.view(), branch.view(), saved);
  const float rms = std::sqrt((9.0f + 16.0f) / 2.0f);
  EXPECT_THAT(values_of(micro.of(saved.sum)), testing::ElementsAre(3, 4));
  EXPECT_THAT(values_of(micro.of(saved.y)), Pointwise(FloatNear(kRounding), {2 * 3 / rms, 3 * 4 / rms}));
}

TEST_F(NormTest, Gpt2sCentresAndAddsABias) {
  const Norm norm = make(Architecture::kGpt2);
  const tensor::Tensor residual = tensor_of({1, 2}, {1, 0}), branch = tensor_of({1, 2}, {2, 5});
  forward(stream, norm, micro, residual.view(), branch.view(), saved);  // sum 3, 5: mean 4, deviation 1
  EXPECT_THAT(values_of(micro.of(saved.y)), Pointwise(FloatNear(4 * kRounding), {-2.0f + 10, 3.0f + 20}));
}

TEST_F(NormTest, WithoutABranchTheSumIsTheInput) {
  const Norm norm = make(Architecture::kLlama);
  set(saved.sum, {3, 4});
  forward(stream, norm, micro, {}, {}, saved);
  EXPECT_THAT(values_of(micro.of(saved.sum)), testing::ElementsAre(3, 4));
  EXPECT_NEAR(values_of(micro.of(saved.y))[0], 6 / std::sqrt(12.5f), kRounding);
}

// In two dimensions x / rms(x) keeps its direction's length, so only the part of the gradient across x passes.
TEST_F(NormTest, BackwardAddsTheGradientThatReachesTheSumDirectly) {
  const Norm norm = make(Architecture::kLlama);
  set(saved.sum, {3, 4});
  forward(stream, norm, micro, {}, {}, saved);
  const tensor::Tensor dy = tensor_of({1, 2}, {0.5f, 1.0f / 3.0f});  // dy * weight = (1, 1)
  tensor::Tensor dx = tensor_of({1, 2}, {100, 200});
  backward(stream, norm, micro, saved, dy.view(), dx.view(), dx.mutable_view());
  const float rms = std::sqrt(12.5f), along = 7.0f / 25.0f;  // (1, 1) = along * (3, 4) + across
  EXPECT_THAT(values_of(dx.view()),
              Pointwise(FloatNear(1e-4f), {100 + (1 - 3 * along) / rms, 200 + (1 - 4 * along) / rms}));
  EXPECT_NEAR(parameters.gradient(0).as<float>()[0], 0.5f * 3 / rms, kRounding);
}

}  // namespace
}  // namespace convoy::model
