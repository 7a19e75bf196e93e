// SPDX-License-Identifier: Apache-2.0
// From a run-time dtype to the element type of a kernel.
#pragma once

#include <type_traits>

#include "libcore/base/error.h"
#include "libcore/tensor/fp16.h"

namespace convoy::ops::cpu {

// Calls body(std::type_identity<T>) with T float, Bf16 or Fp16; `dtype` has been checked to be one of them.
template <class Body>
void with_float_type(tensor::DType dtype, Body&& body) {
  if (dtype == tensor::DType::kF32) {
    body(std::type_identity<float>{});
  } else if (dtype == tensor::DType::kBF16) {
    body(std::type_identity<tensor::Bf16>{});
  } else {
    body(std::type_identity<tensor::Fp16>{});
  }
}

// The same of two. bf16 and fp16 never meet: a run has one of them.
template <class Body>
void with_float_types(tensor::DType first, tensor::DType second, Body&& body) {
  with_float_type(first, [&](auto x) {
    with_float_type(second, [&](auto y) {
      using X = typename decltype(x)::type;
      using Y = typename decltype(y)::type;
      if constexpr (std::is_same_v<X, Y> || std::is_same_v<X, float> || std::is_same_v<Y, float>) {
        body(x, y);
      } else {
        throw InternalError("no operation takes bf16 and fp16 at once");
      }
    });
  });
}

}  // namespace convoy::ops::cpu
