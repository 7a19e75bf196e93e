// SPDX-License-Identifier: Apache-2.0
#include "apps/ckpt/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/ckpt/pieces.h"

namespace convoy::apps::ckpt {

Statistics statistics_of(const Source& source, const checkpoint::Manifest& inventory, std::size_t tensor) {
  Statistics found;
  double sum = 0.0, squares = 0.0;
  std::vector<float> values;
  for_each_piece(inventory.tensors[tensor].shape, [&](const tensor::Box& box, std::int64_t /*first*/) {
    values.resize(static_cast<std::size_t>(box.count()));
    read_box(source, inventory, tensor, box, {values.data(), tensor::DType::kF32, box.extent});
    for (const float value : values) {
      if (!std::isfinite(value)) {
        ++found.not_finite;
        continue;
      }
      const double x = value;
      found.min = found.finite == 0 ? x : std::min(found.min, x);
      found.max = found.finite == 0 ? x : std::max(found.max, x);
      ++found.finite;
      sum += x;
      squares += x * x;
    }
  });
  if (found.finite > 0) found.mean = sum / static_cast<double>(found.finite);
  found.norm = std::sqrt(squares);
  return found;
}

}  // namespace convoy::apps::ckpt
