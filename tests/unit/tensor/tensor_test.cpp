// SPDX-License-Identifier: Apache-2.0
#include "libcore/tensor/tensor.h"

#include <gtest/gtest.h>

#include <utility>

namespace convoy::tensor {
namespace {

TEST(Tensor, OwnsZeroesOfItsShape) {
  const Tensor tensor({2, 3}, DType::kF32);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.dtype(), DType::kF32);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(tensor.as<float>()[i], 0.0f);
}

TEST(Tensor, ViewsSeeWhatIsWritten) {
  Tensor tensor({2, 3}, DType::kI32);
  tensor.mutable_view().as<std::int32_t>()[5] = 7;
  EXPECT_EQ(tensor.view().as<std::int32_t>()[5], 7);
  EXPECT_TRUE(tensor.view().dense());
}

TEST(Tensor, MovesWithoutCopying) {
  Tensor first({4}, DType::kF32);
  const void* data = first.view().data;
  const Tensor second(std::move(first));
  EXPECT_EQ(second.view().data, data);
}

}  // namespace
}  // namespace convoy::tensor
