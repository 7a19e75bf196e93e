// SPDX-License-Identifier: Apache-2.0
// The layout-invariant digest of a tensor: the sum over its elements, modulo 2^64, of
//   mix64(mix64(i + 0x9E3779B97F4A7C15) ^ u),
// i the row-major index of the element in the whole tensor, u its stored bits zero-extended, mix64 splitmix64's
// finaliser. Parts add up in any order, so ranks and files of any layout come to the same number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "libcore/tensor/box.h"
#include "libcore/tensor/dtype.h"

namespace convoy::checkpoint {

// Of the elements [first, first + n) of the box's own row-major order, n = bytes.size() / size of dtype.
std::uint64_t digest_part(std::span<const std::byte> bytes, tensor::DType dtype, const tensor::Shape& shape,
                          const tensor::Box& box, std::int64_t first);

}  // namespace convoy::checkpoint
