// SPDX-License-Identifier: Apache-2.0
// IEEE binary16 as an element type, and its exact conversions.
#pragma once

#include "libcore/tensor/dtype.h"

namespace convoy::tensor {

struct Fp16 {
  std::uint16_t bits = 0;
};

inline float to_float(Fp16 x) { return half_to_float(x.bits); }

// Rounds to nearest, ties to even, subnormal numbers included; from 65520 on it is infinite; a NaN becomes quiet.
Fp16 to_fp16(float x);

}  // namespace convoy::tensor
