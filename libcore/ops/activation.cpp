// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/activation.h"

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/checks.h"

namespace convoy::ops {

void gelu_forward(Stream& stream, const GeluForward& args) {
  check_float(args.x.dtype, "gelu_forward: x");
  check_matrix(args.x, args.y.rows(), args.y.columns(), args.x.dtype, "gelu_forward: x");
  check_matrix(args.y, args.y.rows(), args.y.columns(), args.x.dtype, "gelu_forward: y");
  stream.backend().activation.gelu_forward(stream, args);
}

void gelu_backward(Stream& stream, const GeluBackward& args) {
  const std::int64_t rows = args.x.rows();
  const std::int64_t columns = args.x.columns();
  check_float(args.x.dtype, "gelu_backward: x");
  check_matrix(args.x, rows, columns, args.x.dtype, "gelu_backward: x");
  check_matrix(args.dy, rows, columns, args.x.dtype, "gelu_backward: dy");
  check_matrix(args.dx, rows, columns, args.x.dtype, "gelu_backward: dx");
  stream.backend().activation.gelu_backward(stream, args);
}

void swiglu_forward(Stream& stream, const SwigluForward& args) {
  const std::int64_t rows = args.y.rows();
  const std::int64_t columns = args.y.columns();
  check_float(args.y.dtype, "swiglu_forward: y");
  check_matrix(args.y, rows, columns, args.y.dtype, "swiglu_forward: y");
  check_matrix(args.gate_up, rows, 2 * columns, args.y.dtype, "swiglu_forward: gate_up");
  stream.backend().activation.swiglu_forward(stream, args);
}

void swiglu_backward(Stream& stream, const SwigluBackward& args) {
  const std::int64_t rows = args.dy.rows();
  const std::int64_t columns = args.dy.columns();
  check_float(args.dy.dtype, "swiglu_backward: dy");
  check_matrix(args.dy, rows, columns, args.dy.dtype, "swiglu_backward: dy");
  check_matrix(args.gate_up, rows, 2 * columns, args.dy.dtype, "swiglu_backward: gate_up");
  check_matrix(args.dgate_up, rows, 2 * columns, args.dy.dtype, "swiglu_backward: dgate_up");
  stream.backend().activation.swiglu_backward(stream, args);
}

}  // namespace convoy::ops
