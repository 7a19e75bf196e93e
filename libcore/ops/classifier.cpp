// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/classifier.h"

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/checks.h"

namespace convoy::ops {

void classifier_maximum(Stream& stream, const ClassifierMaximum& args) {
  const std::int64_t rows = args.maximum.count();
  check_dense(args.maximum, rows, DType::kF32, "classifier_maximum: maximum");
  check_matrix(args.logits, rows, args.logits.columns(), DType::kF32, "classifier_maximum: logits");
  stream.backend().classifier.maximum(stream, args);
}

void classifier_sum(Stream& stream, const ClassifierSum& args) {
  const std::int64_t rows = args.sum.count();
  check_dense(args.sum, rows, DType::kF32, "classifier_sum: sum");
  check_matrix(args.logits, rows, args.logits.columns(), DType::kF32, "classifier_sum: logits");
  check_dense(args.maximum, rows, DType::kF32, "classifier_sum: maximum");
  check_dense(args.targets, rows, DType::kI32, "classifier_sum: targets");
  check_dense(args.target_logit, rows, DType::kF32, "classifier_sum: target_logit");
  stream.backend().classifier.sum(stream, args);
}

void classifier_backward(Stream& stream, const ClassifierBackward& args) {
  const std::int64_t rows = args.targets.count();
  const std::int64_t columns = args.dlogits.columns();
  check_dense(args.targets, rows, DType::kI32, "classifier_backward: targets");
  check_matrix(args.logits, rows, columns, DType::kF32, "classifier_backward: logits");
  check_dense(args.maximum, rows, DType::kF32, "classifier_backward: maximum");
  check_dense(args.sum, rows, DType::kF32, "classifier_backward: sum");
  check_float(args.dlogits.dtype, "classifier_backward: dlogits");
  check_matrix(args.dlogits, rows, columns, args.dlogits.dtype, "classifier_backward: dlogits");
  check(args.dlogits.data != args.logits.data || args.dlogits.dtype == DType::kF32,
        "classifier_backward: only fp32 dlogits may take the place of the logits");
  stream.backend().classifier.backward(stream, args);
}

}  // namespace convoy::ops
