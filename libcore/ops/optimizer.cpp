// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/optimizer.h"

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/checks.h"

namespace convoy::ops {

void adamw(Stream& stream, const AdamW& args) {
  const std::int64_t n = args.parameter.count();
  check_dense(args.parameter, n, DType::kF32, "adamw: parameter");
  check_dense(args.gradient, n, DType::kF32, "adamw: gradient");
  check_dense(args.m, n, DType::kF32, "adamw: m");
  check_dense(args.v, n, DType::kF32, "adamw: v");
  if (args.rounded.present()) {
    const DType narrow = args.rounded.dtype == DType::kF16 ? DType::kF16 : DType::kBF16;
    check_dense(args.rounded, n, narrow, "adamw: rounded");
  }
  check(args.correction1 > 0.0 && args.correction2 > 0.0,
        "adamw: the bias corrections 1 - beta^t are positive (t from 1)");
  stream.backend().optimizer.adamw(stream, args);
}

void sum_of_squares(Stream& stream, View x, ExactSum& sum) {
  check_dense(x, x.count(), DType::kF32, "sum_of_squares: x");
  stream.backend().optimizer.sum_of_squares(stream, x, sum);
}

void cast(Stream& stream, View x, MutableView y) {
  check_float(x.dtype, "cast: x");
  check_float(y.dtype, "cast: y");
  check_dense(x, y.count(), x.dtype, "cast: x");
  check_dense(y, y.count(), y.dtype, "cast: y");
  stream.backend().optimizer.cast(stream, x, y);
}

void add(Stream& stream, View x, MutableView y) {
  check_float(x.dtype, "add: x");
  check_float(y.dtype, "add: y");
  check_dense(x, y.count(), x.dtype, "add: x");
  check_dense(y, y.count(), y.dtype, "add: y");
  stream.backend().optimizer.add(stream, x, y);
}

void scale(Stream& stream, float factor, MutableView x) {
  check_dense(x, x.count(), DType::kF32, "scale: x");
  stream.backend().optimizer.scale(stream, factor, x);
}

void fill_zero(Stream& stream, MutableView x) {
  check_dense(x, x.count(), x.dtype, "fill_zero: x");
  stream.backend().optimizer.fill_zero(stream, x);
}

}  // namespace convoy::ops
