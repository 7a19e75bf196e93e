// SPDX-License-Identifier: Apache-2.0
// From a run-time dtype to the element type of a kernel.
#pragma once

#include <type_traits>

#include "libcore/tensor/dtype.h"

namespace convoy::ops::cpu {

// Calls body(std::type_identity<T>) with T float or Bf16; `dtype` has been checked to be one of the two.
template <class Body>
void with_float_type(tensor::DType dtype, Body&& body) {
  if (dtype == tensor::DType::kF32) {
    body(std::type_identity<float>{});
  } else {
    body(std::type_identity<tensor::Bf16>{});
  }
}

template <class Body>
void with_float_types(tensor::DType first, tensor::DType second, Body&& body) {
  with_float_type(first, [&](auto x) { with_float_type(second, [&](auto y) { body(x, y); }); });
}

}  // namespace convoy::ops::cpu
