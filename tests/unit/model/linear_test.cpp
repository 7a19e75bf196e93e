// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libcore/ops/backend.h"
#include "tests/unit/model/small_parameters.h"

namespace convoy::model {
namespace {

using testing::ElementsAre;

// Two parameters side by side, "p.a" with 2 outputs and "p.b" with 1, of 2 inputs, as Llama's files hold them.
struct LinearTest : testing::Test {
  device::Stream stream{ops::cpu_backend(), 1};
  Parameters parameters{{{.name = "p.a.weight", .shape = {2, 2}},
                         {.name = "p.a.bias", .shape = {2}},
                         {.name = "p.b.weight", .shape = {1, 2}},
                         {.name = "p.b.bias", .shape = {1}}},
                        tensor::DType::kF32,
                        true};
  Linear layer = make_linear(stream, parameters, ops::WeightLayout::kOutIn, "p.", {"a", "b"}, true);

  LinearTest() {
    set(parameters.weight(0), {1, 2, 3, 4});
    set(parameters.weight(1), {10, 20});
    set(parameters.weight(2), {5, 6});
    set(parameters.weight(3), {30});
    pack(stream, layer);
  }
};

TEST_F(LinearTest, ForwardWritesTheParametersOutputsSideBySide) {
  const tensor::Tensor x = tensor_of({1, 2}, {1, -1});
  tensor::Tensor y({1, 3}, tensor::DType::kF32);
  forward(stream, layer, x.view(), y.mutable_view());
  EXPECT_THAT(values_of(y.view()), ElementsAre(9, 19, 29));
}

TEST_F(LinearTest, BackwardInputOverwrites) {
  const tensor::Tensor dy = tensor_of({1, 3}, {1, 0, 2});
  tensor::Tensor dx = tensor_of({1, 2}, {100, 100});
  backward_input(stream, layer, dy.view(), dx.mutable_view());
  EXPECT_THAT(values_of(dx.view()), ElementsAre(11, 14));
}

TEST_F(LinearTest, BackwardWeightAddsToTheParametersOwnGradients) {
  const tensor::Tensor x = tensor_of({1, 2}, {1, -1}), dy = tensor_of({1, 3}, {1, 0, 2});
  set(parameters.gradient(2), {100, 100});
  backward_weight(stream, layer, dy.view(), x.view());
  EXPECT_THAT(values_of(parameters.gradient(0)), ElementsAre(1, -1, 0, 0));
  EXPECT_THAT(values_of(parameters.gradient(1)), ElementsAre(1, 0));
  EXPECT_THAT(values_of(parameters.gradient(2)), ElementsAre(102, 98));
  EXPECT_THAT(values_of(parameters.gradient(3)), ElementsAre(2));
}

TEST_F(LinearTest, ReadsConv1dWeightsAsInOut) {
  Parameters conv({{.name = "w.weight", .shape = {2, 3}}}, tensor::DType::kF32, true);
  set(conv.weight(0), {1, 2, 3, 4, 5, 6});
  Linear in_out = make_linear(stream, conv, ops::WeightLayout::kInOut, "", {"w"}, false);
  pack(stream, in_out);
  const tensor::Tensor x = tensor_of({1, 2}, {1, 10});
  tensor::Tensor y({1, 3}, tensor::DType::kF32);
  forward(stream, in_out, x.view(), y.mutable_view());
  EXPECT_THAT(values_of(y.view()), ElementsAre(41, 52, 63));
}

}  // namespace
}  // namespace convoy::model
