// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/norm.h"

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/checks.h"

namespace convoy::ops {
namespace {

// What the forward of both norms has in common.
template <class Forward>
void check_forward(const Forward& args) {
  const std::int64_t rows = args.x.rows();
  const std::int64_t columns = args.x.columns();
  const DType dtype = args.x.dtype;
  check_float(dtype, "norm forward: x");
  check_matrix(args.x, rows, columns, dtype, "norm forward: x");
  if (args.residual.present()) {
    check_matrix(args.residual, rows, columns, dtype, "norm forward: residual");
    check_matrix(args.sum, rows, columns, dtype, "norm forward: sum");
  } else {
    check(!args.sum.present(), "norm forward: the sum is asked for together with a residual, else it is x");
  }
  check_dense(args.weight, columns, dtype, "norm forward: weight");
  check_matrix(args.y, rows, columns, dtype, "norm forward: y");
  check_dense(args.rstd, rows, DType::kF32, "norm forward: rstd");
}

template <class Backward>
void check_backward(const Backward& args) {
  const std::int64_t rows = args.dy.rows();
  const std::int64_t columns = args.dy.columns();
  const DType dtype = args.dy.dtype;
  check_float(dtype, "norm backward: dy");
  check_matrix(args.dy, rows, columns, dtype, "norm backward: dy");
  if (args.dsum.present()) check_matrix(args.dsum, rows, columns, dtype, "norm backward: dsum");
  check_matrix(args.sum, rows, columns, dtype, "norm backward: sum");
  check_dense(args.weight, columns, dtype, "norm backward: weight");
  check_dense(args.rstd, rows, DType::kF32, "norm backward: rstd");
  check_matrix(args.dx, rows, columns, dtype, "norm backward: dx");
  check_dense(args.dweight, columns, DType::kF32, "norm backward: dweight");
}

}  // namespace

void layernorm_forward(Stream& stream, const LayerNormForward& args) {
  check_forward(args);
  check_dense(args.bias, args.x.columns(), args.x.dtype, "layernorm_forward: bias");
  check_dense(args.mean, args.x.rows(), DType::kF32, "layernorm_forward: mean");
  stream.backend().norm.layernorm_forward(stream, args);
}

void layernorm_backward(Stream& stream, const LayerNormBackward& args) {
  check_backward(args);
  check_dense(args.mean, args.dy.rows(), DType::kF32, "layernorm_backward: mean");
  check_dense(args.dbias, args.dy.columns(), DType::kF32, "layernorm_backward: dbias");
  stream.backend().norm.layernorm_backward(stream, args);
}

void rmsnorm_forward(Stream& stream, const RmsNormForward& args) {
  check_forward(args);
  stream.backend().norm.rmsnorm_forward(stream, args);
}

void rmsnorm_backward(Stream& stream, const RmsNormBackward& args) {
  check_backward(args);
  stream.backend().norm.rmsnorm_backward(stream, args);
}

}  // namespace convoy::ops
