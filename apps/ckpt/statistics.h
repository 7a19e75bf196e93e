// SPDX-License-Identifier: Apache-2.0
// Numbers about a tensor's values.
#pragma once

#include <cstdint>

#include "apps/ckpt/source.h"

namespace convoy::apps::ckpt {

struct Statistics {
  std::int64_t finite = 0, not_finite = 0;
  double min = 0.0, max = 0.0, mean = 0.0, norm = 0.0;  // of the finite values; norm: the root of the sum of squares
};

// Reads tensor `tensor` of the inventory once.
Statistics statistics_of(const Source& source, const checkpoint::Manifest& inventory, std::size_t tensor);

}  // namespace convoy::apps::ckpt
