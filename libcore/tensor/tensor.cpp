// SPDX-License-Identifier: Apache-2.0
#include "libcore/tensor/tensor.h"

namespace convoy::tensor {

Tensor::Tensor(Shape shape, DType dtype, device::Device device)
    : shape_(shape), dtype_(dtype), buffer_(static_cast<std::size_t>(shape.count()) * size_of(dtype), device) {}

}  // namespace convoy::tensor
