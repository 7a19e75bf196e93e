// SPDX-License-Identifier: Apache-2.0
// How ops that treat every row alike are split over the team: by rows, so that the result does not depend on the team's
// size.
#pragma once

#include <cstdint>

#include "libcore/device/stream.h"
#include "libcore/ops/cpu/dtype_dispatch.h"

namespace convoy::ops::cpu {

// Rows a thread takes at least, so that waking it is worth its while.
constexpr std::int64_t rows_worth_a_thread(std::int64_t columns) { return 1 + 4096 / (columns + 1); }

// Calls body(std::type_identity<T>, begin, end) for ranges that cover [0, rows), T the element type of `dtype`.
template <class Body>
void over_rows(device::Stream& stream, std::int64_t rows, std::int64_t columns, tensor::DType dtype, Body&& body) {
  with_float_type(dtype, [&](auto type) {
    stream.pool().parallel_for(rows, rows_worth_a_thread(columns),
                               [&](std::int64_t begin, std::int64_t end, int) { body(type, begin, end); });
  });
}

}  // namespace convoy::ops::cpu
