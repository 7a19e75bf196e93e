// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/rotary.h"

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/checks.h"

namespace convoy::ops {

void rotary(Stream& stream, const Rotary& args) {
  const std::int64_t rows = args.heads.rows();
  check(args.head_size > 0 && args.head_size % 2 == 0, "rotary: the size of a head is even and positive");
  check(args.heads.columns() % args.head_size == 0, "rotary: a row holds whole heads");
  check_float(args.heads.dtype, "rotary: heads");
  check_matrix(args.heads, rows, args.heads.columns(), args.heads.dtype, "rotary: heads");
  check_matrix(args.cosine, args.cosine.rows(), args.head_size / 2, DType::kF32, "rotary: cosine");
  check_matrix(args.sine, args.cosine.rows(), args.head_size / 2, DType::kF32, "rotary: sine");
  check_dense(args.positions, rows, DType::kI32, "rotary: positions");
  stream.backend().rotary.apply(stream, args);
}

}  // namespace convoy::ops
