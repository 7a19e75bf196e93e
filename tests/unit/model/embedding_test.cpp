// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libcore/ops/backend.h"
#include "tests/unit/model/small_parameters.h"

namespace convoy::model {
namespace {

using testing::ElementsAre;

struct EmbeddingTest : testing::Test {
  device::Stream stream{ops::cpu_backend(), 1};
  tensor::Tensor tokens = integers({3}, {2, 0, 2}), positions = integers({3}, {0, 1, 0});
  MicroBatch micro{.batch = 1, .sequence = 3, .tokens = tokens.view(), .targets = {}, .positions = positions.view()};
  Config config;
  tensor::Tensor y{{3, 1}, tensor::DType::kF32};
};

TEST_F(EmbeddingTest, Gpt2AddsTheTablesRowsOfTokenAndPosition) {
  config.architecture = Architecture::kGpt2;
  Parameters parameters(
      {{.name = "transformer.wte.weight", .shape = {3, 1}}, {.name = "transformer.wpe.weight", .shape = {2, 1}}},
      tensor::DType::kF32, true);
  set(parameters.weight(0), {1, 2, 3});
  set(parameters.weight(1), {10, 20});
  const Embedding embedding = make_embedding(parameters, config);
  forward(stream, embedding, micro, {}, y.mutable_view());
  EXPECT_THAT(values_of(y.view()), ElementsAre(13, 21, 13));
  tensor::Tensor dy = tensor_of({3, 1}, {1, 2, 4});
  set(parameters.gradient(0), {100, 100, 100});
  backward(stream, embedding, micro, {}, dy.mutable_view());
  EXPECT_THAT(values_of(parameters.gradient(0)), ElementsAre(102, 100, 105));
  EXPECT_THAT(values_of(parameters.gradient(1)), ElementsAre(5, 2));
}

TEST_F(EmbeddingTest, LlamaHasNoTableOfPositions) {
  Parameters parameters({{.name = "model.embed_tokens.weight", .shape = {3, 1}}}, tensor::DType::kF32, true);
  set(parameters.weight(0), {1, 2, 3});
  forward(stream, make_embedding(parameters, config), micro, {}, y.mutable_view());
  EXPECT_THAT(values_of(y.view()), ElementsAre(3, 1, 3));
}

}  // namespace
}  // namespace convoy::model
