// SPDX-License-Identifier: Apache-2.0
// An owned tensor: a shape and a buffer, zero-initialised.
#pragma once

#include "libcore/device/arena.h"
#include "libcore/tensor/view.h"

namespace convoy::tensor {

class Tensor {
 public:
  Tensor() = default;
  Tensor(Shape shape, DType dtype, device::Device device = {});

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  View view() const { return {buffer_.data(), dtype_, shape_}; }
  MutableView mutable_view() { return {buffer_.data(), dtype_, shape_, 0}; }
  template <class T>
  T* as() { return reinterpret_cast<T*>(buffer_.data()); }
  template <class T>
  const T* as() const { return reinterpret_cast<const T*>(buffer_.data()); }

 private:
  Shape shape_;
  DType dtype_ = DType::kF32;
  device::Buffer buffer_;
};

}  // namespace convoy::tensor
