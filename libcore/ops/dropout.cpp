// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/dropout.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/checks.h"

namespace convoy::ops {

Dropout make_dropout(double rate, std::uint64_t key) {
  check(rate >= 0.0 && rate < 1.0, "a dropout rate is at least 0 and below 1");
  const double threshold = std::min(std::ceil(rate * 0x1p32), 0x1p32 - 1.0);
  return {key, static_cast<std::uint32_t>(threshold), static_cast<float>(1.0 / (1.0 - rate))};
}

void dropout_rows(Stream& stream, const DropoutRows& args) {
  check(args.sequence > 0 && args.first_slot >= 0 && args.first_row >= 0, "dropout: rows have a place in a batch");
  check_float(args.x.dtype, "dropout: x");
  check_matrix(args.x, args.x.rows(), args.x.columns(), args.x.dtype, "dropout: x");
  check_matrix(args.y, args.x.rows(), args.x.columns(), args.x.dtype, "dropout: y");
  stream.backend().dropout.rows(stream, args);
}

}  // namespace convoy::ops
