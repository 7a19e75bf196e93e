// SPDX-License-Identifier: Apache-2.0
#include "libcore/optim/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "libcore/ops/backend.h"
#include "libcore/tensor/dtype.h"

namespace convoy::optim {
namespace {

using model::Init;
using model::Parameter;
using tensor::DType;

constexpr double kFp32 = 2e-7;  // relative rounding of a handful of fp32 operations

// A matrix that decays and a bias that does not.
std::vector<Parameter> two_parameters() {
  return {{.name = "w", .shape = {1, 2}, .init = Init::kNormal, .init_std = 0.02, .decays = true},
          {.name = "b", .shape = {2}, .init = Init::kZero}};
}

struct AdamWTest : testing::Test {
  device::Stream stream{ops::cpu_backend(), 1};
  model::Parameters parameters{two_parameters(), DType::kF32, true};

  void set(tensor::MutableView view, float a, float b) {
    view.as<float>()[0] = a;
    view.as<float>()[1] = b;
  }
};

TEST_F(AdamWTest, GradientNormIsTheL2NormOverAllTensors) {
  AdamW optimizer(parameters, {});
  set(parameters.gradient(0), 1.0f, 2.0f);
  set(parameters.gradient(1), -4.0f, 2.0f);
  EXPECT_DOUBLE_EQ(optimizer.gradient_squares(stream).value(), 25.0);
}

TEST_F(AdamWTest, GradientNormIsNotFiniteIfAGradientIsNot) {
  AdamW optimizer(parameters, {});
  set(parameters.gradient(1), 1.0f, std::numeric_limits<float>::quiet_NaN());
  EXPECT_FALSE(std::isfinite(optimizer.gradient_squares(stream).value()));
  set(parameters.gradient(1), 1.0f, std::numeric_limits<float>::infinity());
  EXPECT_FALSE(std::isfinite(optimizer.gradient_squares(stream).value()));
}

TEST_F(AdamWTest, ClipsOnlyNormsAboveTheLimit) {
  EXPECT_DOUBLE_EQ(AdamW(parameters, {.clip_norm = 1.0}).clip_scale(4.0), 1.0 / 4.000001);
  EXPECT_DOUBLE_EQ(AdamW(parameters, {.clip_norm = 1.0}).clip_scale(1.0), 1.0);
  EXPECT_DOUBLE_EQ(AdamW(parameters, {.clip_norm = 0.0}).clip_scale(1e6), 1.0);
}

// The first update by hand: m/c1 = g and v/c2 = g^2, so p -= rate (sign(g) + wd p_old) up to epsilon.
TEST_F(AdamWTest, FirstUpdateStepsBySignAndDecaysMatricesOnly) {
  AdamW optimizer(parameters, {.weight_decay = 0.5, .clip_norm = 0.0});
  set(parameters.weight(0), 2.0f, -1.0f);
  set(parameters.weight(1), 2.0f, -1.0f);
  set(parameters.gradient(0), 3.0f, -0.25f);
  set(parameters.gradient(1), 3.0f, -0.25f);
  optimizer.step(stream, 0.1, 1, 0.0);
  EXPECT_NEAR(parameters.weight(0).as<float>()[0], 2.0 - 0.1 * (1.0 + 0.5 * 2.0), 2 * kFp32);
  EXPECT_NEAR(parameters.weight(0).as<float>()[1], -1.0 - 0.1 * (-1.0 - 0.5 * 1.0), 2 * kFp32);
  EXPECT_NEAR(parameters.weight(1).as<float>()[0], 2.0 - 0.1, 2 * kFp32);
  EXPECT_NEAR(parameters.weight(1).as<float>()[1], -1.0 + 0.1, 2 * kFp32);
}

// Three updates of one element against the formula in double, with clipping.
TEST_F(AdamWTest, LaterUpdatesFollowTheFormula) {
  const AdamWConstants constants{.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.1, .clip_norm = 1.0};
  AdamW optimizer(parameters, constants);
  set(parameters.weight(0), 0.7f, 0.0f);
  double p = 0.7f, m = 0.0, v = 0.0;
  const float gradients[] = {0.5f, -2.0f, 1.5f};
  for (int t = 1; t <= 3; ++t) {
    const double gradient = gradients[t - 1];
    set(parameters.gradient(0), gradients[t - 1], 0.0f);
    optimizer.step(stream, 0.01 * t, t, std::abs(gradient));
    const double g = std::abs(gradient) > 1.0 ? gradient / (std::abs(gradient) + 1e-6) : gradient;
    m = 0.9 * m + 0.1 * g;
    v = 0.95 * v + 0.05 * g * g;
    p -= 0.01 * t * (m / (1 - std::pow(0.9, t)) / (std::sqrt(v / (1 - std::pow(0.95, t))) + 1e-3) + 0.1 * p);
  }
  EXPECT_NEAR(parameters.weight(0).as<float>()[0], p, 3 * kFp32);
}

TEST_F(AdamWTest, Bf16WeightsFollowAnFp32Master) {
  model::Parameters half(two_parameters(), DType::kBF16, true);
  AdamW optimizer(half, {.weight_decay = 0.0, .clip_norm = 0.0});
  set(optimizer.master(1), 1.0f, 2.0f);
  optimizer.publish(stream);
  EXPECT_EQ(half.weight(1).as<std::uint16_t>()[1], tensor::to_bf16(2.0f).bits);
  set(half.gradient(1), 1.0f, 1.0f);
  for (int t = 1; t <= 4; ++t) optimizer.step(stream, 1e-3, t, 0.0);  // each far below a bf16 step of 2^-7 at 2
  EXPECT_NEAR(optimizer.master(1).as<float>()[1], 2.0 - 4e-3, 1e-6);
  EXPECT_EQ(half.weight(1).as<std::uint16_t>()[1], tensor::to_bf16(optimizer.master(1).as<float>()[1]).bits);
}

TEST_F(AdamWTest, Fp32WeightsAreTheirOwnMaster) {
  AdamW optimizer(parameters, {});
  EXPECT_EQ(optimizer.master(1).data, parameters.weight(1).data);
}

// Rank 1 of two under ZeRO 1: the second half of the matrix, nothing of the bias.
std::vector<parallel::Range> some_shares() { return {{1, 2}, {2, 2}}; }

TEST_F(AdamWTest, UpdatesItsSharesAlone) {
  AdamW whole(parameters, {.clip_norm = 0.0});
  model::Parameters shared(two_parameters(), DType::kF32, true);
  AdamW part(shared, {.clip_norm = 0.0}, some_shares());
  for (model::Parameters* each : {&parameters, &shared}) {
    set(each->weight(0), 2.0f, -1.0f);
    set(each->weight(1), 3.0f, 4.0f);
    set(each->gradient(0), 3.0f, -0.25f);
    set(each->gradient(1), 1.0f, 1.0f);
  }
  whole.step(stream, 0.1, 1, 0.0);
  part.step(stream, 0.1, 1, 0.0);
  EXPECT_EQ(shared.weight(0).as<float>()[0], 2.0f);
  EXPECT_EQ(shared.weight(0).as<float>()[1], parameters.weight(0).as<float>()[1]);
  EXPECT_EQ(shared.weight(1).as<float>()[0], 3.0f);
  EXPECT_EQ(shared.weight(1).as<float>()[1], 4.0f);
}

TEST_F(AdamWTest, HoldsMomentsOfItsSharesAlone) {
  AdamW optimizer(parameters, {.beta1 = 0.9, .beta2 = 0.5, .clip_norm = 0.0}, some_shares());
  EXPECT_EQ(optimizer.share(0), (parallel::Range{1, 2}));
  EXPECT_EQ(optimizer.first_moment(0).shape, (tensor::Shape{1}));
  EXPECT_EQ(optimizer.second_moment(1).count(), 0);
  set(parameters.gradient(0), 8.0f, 2.0f);
  optimizer.step(stream, 0.1, 1, 0.0);
  EXPECT_NEAR(optimizer.first_moment(0).as<float>()[0], 0.1 * 2.0, kFp32);
  EXPECT_NEAR(optimizer.second_moment(0).as<float>()[0], 0.5 * 4.0, 2 * kFp32);
}

TEST_F(AdamWTest, PublishesTheMastersOfItsSharesAlone) {
  model::Parameters half(two_parameters(), DType::kBF16, true);
  AdamW optimizer(half, {}, some_shares());
  EXPECT_EQ(optimizer.master(0).count(), 1);
  EXPECT_EQ(optimizer.master(1).count(), 0);
  optimizer.master(0).as<float>()[0] = 0.375f;
  optimizer.publish(stream);
  EXPECT_EQ(half.weight(0).as<std::uint16_t>()[0], 0);
  EXPECT_EQ(half.weight(0).as<std::uint16_t>()[1], tensor::to_bf16(0.375f).bits);
}

TEST_F(AdamWTest, SquaresAreThoseOfItsSharesOfPrimaryParameters) {
  std::vector<model::LocalParameter> table;
  for (const Parameter& parameter : two_parameters()) table.push_back({parameter, tensor::whole(parameter.shape)});
  table[1].primary = false;
  model::Parameters replicas(table, DType::kF32, true);
  set(replicas.gradient(0), 3.0f, 4.0f);
  set(replicas.gradient(1), 100.0f, 100.0f);
  EXPECT_DOUBLE_EQ(AdamW(replicas, {}).gradient_squares(stream).value(), 25.0);
  EXPECT_DOUBLE_EQ(AdamW(replicas, {}, some_shares()).gradient_squares(stream).value(), 16.0);
}

// What is not primary is updated all the same: every copy follows the same gradient.
TEST_F(AdamWTest, UpdatesCopiesLikePrimaryParameters) {
  std::vector<model::LocalParameter> table;
  for (const Parameter& parameter : two_parameters()) table.push_back({parameter, tensor::whole(parameter.shape)});
  table[0].primary = false;
  model::Parameters copies(table, DType::kF32, true);
  AdamW optimizer(copies, {.weight_decay = 0.0, .clip_norm = 0.0});
  set(copies.gradient(0), 1.0f, -1.0f);
  optimizer.step(stream, 0.1, 1, 0.0);
  EXPECT_NEAR(copies.weight(0).as<float>()[0], -0.1, kFp32);
}

}  // namespace
}  // namespace convoy::optim
