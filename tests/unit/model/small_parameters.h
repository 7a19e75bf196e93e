// SPDX-License-Identifier: Apache-2.0
// Hand-sized parameters for tests of the model's parts.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <vector>

#include "libcore/model/parameters.h"
#include "libcore/tensor/tensor.h"

namespace convoy::model {

inline void set(const tensor::MutableView& view, std::initializer_list<float> values) {
  std::copy(values.begin(), values.end(), view.as<float>());
}

inline std::vector<float> values_of(const tensor::View& view) {
  return {view.as<float>(), view.as<float>() + view.count()};
}

inline tensor::Tensor tensor_of(const tensor::Shape& shape, std::initializer_list<float> values) {
  tensor::Tensor made(shape, tensor::DType::kF32);
  std::copy(values.begin(), values.end(), made.as<float>());
  return made;
}

inline tensor::Tensor integers(const tensor::Shape& shape, std::initializer_list<std::int32_t> values) {
  tensor::Tensor made(shape, tensor::DType::kI32);
  std::copy(values.begin(), values.end(), made.as<std::int32_t>());
  return made;
}

}  // namespace convoy::model
