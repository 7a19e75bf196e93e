// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "libcore/base/error.h"
#include "libcore/base/random.h"
#include "libcore/ops/backend.h"
#include "libcore/tensor/tensor.h"

namespace convoy::model {
namespace {

using tensor::DType;
using tensor::Tensor;

Parameter normal(const std::string& name, std::int64_t rows, std::int64_t columns) {
  return {.name = name, .shape = {rows, columns}, .init = Init::kNormal, .init_std = 0.02, .decays = true};
}

Tensor initialised(const Parameter& parameter, std::uint64_t seed, int threads) {
  device::Stream stream(ops::cpu_backend(), threads);
  Tensor values(parameter.shape, DType::kF32);
  initial_values(parameter, seed, stream, values.mutable_view());
  return values;
}

bool equal(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.as<float>(), b.as<float>(), static_cast<std::size_t>(a.shape().count()) * sizeof(float)) == 0;
}

TEST(InitialValues, DoNotDependOnTheNumberOfThreads) {
  const Parameter parameter = normal("a.weight", 129, 257);
  EXPECT_TRUE(equal(initialised(parameter, 7, 1), initialised(parameter, 7, 3)));
}

TEST(InitialValues, AreElementByElementThoseOfTheParametersOwnStream) {
  constexpr std::int64_t kRows = 129, kColumns = 65;  // neither whole blocks nor whole shares of the threads
  const Tensor values = initialised(normal("a.weight", kRows, kColumns), 7, 2);
  const std::uint64_t key = stream_key(7, "init:a.weight");
  for (std::int64_t i = 0; i < kRows * kColumns; ++i)
    ASSERT_EQ(values.as<float>()[i], 0.02f * normal_at(key, static_cast<std::uint64_t>(i))) << "element " << i;
}

TEST(InitialValues, DependOnSeedAndName) {
  const Tensor one = initialised(normal("a.weight", 8, 8), 7, 1);
  EXPECT_FALSE(equal(one, initialised(normal("a.weight", 8, 8), 8, 1)));
  EXPECT_FALSE(equal(one, initialised(normal("b.weight", 8, 8), 7, 1)));
}

TEST(InitialValues, HaveTheMeanAndDeviationOfTheirDistribution) {
  constexpr std::int64_t kCount = 200 * 500;
  const Tensor values = initialised(normal("a.weight", 200, 500), 3, 2);
  double sum = 0.0, squares = 0.0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    sum += values.as<float>()[i];
    squares += static_cast<double>(values.as<float>()[i]) * values.as<float>()[i];
  }
  EXPECT_NEAR(sum / kCount, 0.0, 5.0 * 0.02 / std::sqrt(kCount));  // five standard errors
  EXPECT_NEAR(std::sqrt(squares / kCount), 0.02, 5.0 * 0.02 / std::sqrt(2.0 * kCount));
}

TEST(InitialValues, ConstantsAreConstant) {
  EXPECT_EQ(initialised({.name = "n", .shape = {3}, .init = Init::kOne}, 1, 1).as<float>()[2], 1.0f);
  EXPECT_EQ(initialised({.name = "b", .shape = {3}, .init = Init::kZero}, 1, 1).as<float>()[2], 0.0f);
}

TEST(Parameters, HoldsWeightsInTheComputeTypeAndGradientsInFp32) {
  const Parameters parameters({normal("a", 3, 5), normal("b", 2, 2)}, DType::kBF16, true);
  EXPECT_EQ(parameters.weight(1).dtype, DType::kBF16);
  EXPECT_EQ(parameters.weight(1).shape, (tensor::Shape{2, 2}));
  EXPECT_EQ(parameters.gradient(0).dtype, DType::kF32);
  EXPECT_EQ(parameters.index("b"), 1u);
  EXPECT_THROW(parameters.index("c"), InternalError);
}

TEST(Parameters, ZeroesItsGradients) {
  device::Stream stream(ops::cpu_backend(), 1);
  Parameters parameters({normal("a", 3, 5)}, DType::kF32, true);
  parameters.gradient(0).as<float>()[14] = 2.0f;
  parameters.zero_gradients(stream);
  EXPECT_EQ(parameters.gradient(0).as<float>()[14], 0.0f);
}

TEST(Parameters, HaveNoGradientsIfNoneAreWanted) {
  const Parameters parameters({normal("a", 3, 5)}, DType::kF32, false);
  EXPECT_FALSE(parameters.gradient(0).present());
}

}  // namespace
}  // namespace convoy::model
