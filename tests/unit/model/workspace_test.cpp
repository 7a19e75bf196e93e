// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/workspace.h"

#include <gtest/gtest.h>

namespace convoy::model {
namespace {

TEST(Workspace, PlannedTensorsDoNotOverlap) {
  Workspace workspace;
  tensor::MutableView a, b;
  workspace.plan(a, {3, 5}, tensor::DType::kF32);
  workspace.plan(b, {2}, tensor::DType::kBF16);
  workspace.allocate();
  EXPECT_EQ(a.shape, (tensor::Shape{3, 5}));
  EXPECT_EQ(b.dtype, tensor::DType::kBF16);
  EXPECT_GE(static_cast<std::byte*>(b.data) - static_cast<std::byte*>(a.data), 60);
  EXPECT_GE(workspace.bytes(), 64u);
}

TEST(Workspace, OverlappingTensorsTakeTheRoomOfTheLarger) {
  Workspace workspace;
  tensor::MutableView a, b, c;
  workspace.plan_overlapping(a, {3}, b, {100, 2}, tensor::DType::kF32);
  workspace.plan(c, {1}, tensor::DType::kF32);
  workspace.allocate();
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(b.shape, (tensor::Shape{100, 2}));
  EXPECT_GE(static_cast<std::byte*>(c.data) - static_cast<std::byte*>(b.data), 800);
}

}  // namespace
}  // namespace convoy::model
