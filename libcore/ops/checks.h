// SPDX-License-Identifier: Apache-2.0
// The checks that public op functions make before they call a backend: InternalError names the op, the argument, what
// it must be and what it is.
#pragma once

#include <cstdint>
#include <string_view>

#include "libcore/tensor/view.h"

namespace convoy::ops {

// `what` reads "layernorm_forward: x". The view is present, has `columns` elements in its last dimension, `rows` such
// rows, this dtype, and rows that do not overlap. Leading dimensions may be folded: [B, T, C] passes for [B T, C].
void check_matrix(const tensor::View& view, std::int64_t rows, std::int64_t columns, tensor::DType dtype,
                  std::string_view what);
// `count` elements without gaps, whatever the shape.
void check_dense(const tensor::View& view, std::int64_t count, tensor::DType dtype, std::string_view what);
// fp32, bf16 or fp16.
void check_float(tensor::DType dtype, std::string_view what);

}  // namespace convoy::ops
