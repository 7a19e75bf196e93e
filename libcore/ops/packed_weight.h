// SPDX-License-Identifier: Apache-2.0
// What every backend's packed weight says about itself; a backend derives from it and adds its memory.
#pragma once

#include <vector>

#include "libcore/ops/linear.h"

namespace convoy::ops {

struct PackedWeight::Storage {
  DType dtype = DType::kF32;
  WeightLayout layout = WeightLayout::kOutIn;
  std::vector<std::int64_t> part_outputs;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  bool has_bias = false;
  std::size_t bytes = 0;
};

}  // namespace convoy::ops
