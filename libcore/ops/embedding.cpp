// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/embedding.h"

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/checks.h"

namespace convoy::ops {

void embedding_forward(Stream& stream, const EmbeddingForward& args) {
  const std::int64_t rows = args.tokens.count();
  const std::int64_t columns = args.y.columns();
  const DType dtype = args.y.dtype;
  check_float(dtype, "embedding_forward: y");
  check_dense(args.tokens, rows, DType::kI32, "embedding_forward: tokens");
  check_matrix(args.y, rows, columns, dtype, "embedding_forward: y");
  check_matrix(args.table, args.table.rows(), columns, dtype, "embedding_forward: table");
  if (args.position_table.present()) {
    check_dense(args.positions, rows, DType::kI32, "embedding_forward: positions");
    check_matrix(args.position_table, args.position_table.rows(), columns, dtype, "embedding_forward: position_table");
  }
  stream.backend().embedding.forward(stream, args);
}

void embedding_backward(Stream& stream, const EmbeddingBackward& args) {
  const std::int64_t rows = args.tokens.count();
  const std::int64_t columns = args.dy.columns();
  check_float(args.dy.dtype, "embedding_backward: dy");
  check_dense(args.tokens, rows, DType::kI32, "embedding_backward: tokens");
  check_matrix(args.dy, rows, columns, args.dy.dtype, "embedding_backward: dy");
  check_matrix(args.dtable, args.dtable.rows(), columns, DType::kF32, "embedding_backward: dtable");
  if (args.dposition_table.present()) {
    check_dense(args.positions, rows, DType::kI32, "embedding_backward: positions");
    check_matrix(args.dposition_table, args.dposition_table.rows(), columns, DType::kF32,
                 "embedding_backward: dposition_table");
  }
  stream.backend().embedding.backward(stream, args);
}

}  // namespace convoy::ops
