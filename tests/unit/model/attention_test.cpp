// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libcore/ops/backend.h"
#include "tests/unit/model/small_parameters.h"

namespace convoy::model {
namespace {

Config two_heads_on_one() {
  Config config;
  config.heads = 2;
  config.key_value_heads = 1;
  config.head_size = 2;
  return config;
}

TEST(Attention, QueriesKeysAndValuesLieSideBySide) {
  const Config config = two_heads_on_one();
  EXPECT_EQ(qkv_width(config), 8);
  tensor::Tensor qkv = tensor_of({1, 8}, {0, 1, 2, 3, 4, 5, 6, 7});
  const QkvColumns columns = qkv_columns(config, qkv.mutable_view());
  EXPECT_EQ(columns.q.columns(), 4);
  EXPECT_EQ(columns.k.as<float>()[0], 4);
  EXPECT_EQ(columns.v.as<float>()[1], 7);
  EXPECT_EQ(columns.v.stride(), 8);
}

// Equal scores: a position averages the values that it sees, its own document's up to itself.
TEST(Attention, SeesItsOwnDocumentsPastAndItself) {
  const Config config = two_heads_on_one();
  const tensor::Tensor positions = integers({3}, {0, 1, 0});
  device::Stream stream(ops::cpu_backend(), 1);
  Workspace workspace;
  AttentionActivations saved;
  ActivationPlan activations(workspace);
  plan(activations, saved, config, 3, tensor::DType::kF32);
  workspace.allocate();
  set(saved.qkv, {0, 0, 0, 0, 0, 0, 2, 20, 0, 0, 0, 0, 0, 0, 4, 40, 0, 0, 0, 0, 0, 0, 9, 90});
  MicroBatch micro{.batch = 1, .sequence = 3, .tokens = {}, .targets = {}, .positions = positions.view()};
  forward(stream, config, micro, saved);
  EXPECT_THAT(values_of(saved.heads),
              testing::Pointwise(testing::FloatNear(1e-5f), {2, 20, 2, 20, 3, 30, 3, 30, 5, 50, 5, 50}));
  micro.documents = true;
  forward(stream, config, micro, saved);
  EXPECT_THAT(values_of(saved.heads),
              testing::Pointwise(testing::FloatNear(1e-5f), {2, 20, 2, 20, 3, 30, 3, 30, 9, 90, 9, 90}));
}

}  // namespace
}  // namespace convoy::model
