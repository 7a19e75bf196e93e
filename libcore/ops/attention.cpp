// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/attention.h"

#include <cmath>
#include <string_view>

#include "libcore/base/error.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/checks.h"

namespace convoy::ops {
namespace {

// What messages call the arguments that forward and backward share. Literals: a check that passes allocates nothing.
struct InputNames {
  std::string_view q, k, v, positions;
};
constexpr InputNames kForwardNames{"attention_forward: q", "attention_forward: k", "attention_forward: v",
                                   "attention_forward: positions"};
constexpr InputNames kBackwardNames{"attention_backward: q", "attention_backward: k", "attention_backward: v",
                                    "attention_backward: positions"};

void check_inputs(const AttentionShape& shape, const View& q, const View& k, const View& v, const View& positions,
                  const InputNames& names) {
  check(shape.batch > 0 && shape.sequence > 0, "attention: the batch and the sequence are not empty");
  check(shape.sequence < (std::int64_t{1} << 24), "attention: a sequence has fewer than 2^24 positions");
  check(shape.query_heads > 0 && shape.key_value_heads > 0 && shape.head_size > 0,
        "attention: there are heads, of some size");
  check(shape.query_heads % shape.key_value_heads == 0,
        "attention: each key/value head serves equally many query heads");
  check(std::isfinite(shape.scale) && shape.scale > 0.0f, "attention: the scale is positive");
  const std::int64_t rows = shape.batch * shape.sequence;
  const std::int64_t query_columns = std::int64_t{shape.query_heads} * shape.head_size;
  const std::int64_t key_columns = std::int64_t{shape.key_value_heads} * shape.head_size;
  check_float(q.dtype, names.q);
  check_matrix(q, rows, query_columns, q.dtype, names.q);
  check_matrix(k, rows, key_columns, q.dtype, names.k);
  check_matrix(v, rows, key_columns, q.dtype, names.v);
  if (positions.present()) check_dense(positions, rows, DType::kI32, names.positions);
}

}  // namespace

void attention_forward(Stream& stream, const AttentionForward& args) {
  const AttentionShape& shape = args.shape;
  check_inputs(shape, args.q, args.k, args.v, args.positions, kForwardNames);
  const std::int64_t rows = shape.batch * shape.sequence;
  check_matrix(args.y, rows, args.q.columns(), args.q.dtype, "attention_forward: y");
  check_dense(args.log_sum_exp, rows * shape.query_heads, DType::kF32, "attention_forward: log_sum_exp");
  stream.backend().attention.forward(stream, args);
}

void attention_backward(Stream& stream, const AttentionBackward& args) {
  const AttentionShape& shape = args.shape;
  check_inputs(shape, args.q, args.k, args.v, args.positions, kBackwardNames);
  const std::int64_t rows = shape.batch * shape.sequence;
  const DType dtype = args.q.dtype;
  check_dense(args.log_sum_exp, rows * shape.query_heads, DType::kF32, "attention_backward: log_sum_exp");
  check_matrix(args.y, rows, args.q.columns(), dtype, "attention_backward: y");
  check_matrix(args.dy, rows, args.q.columns(), dtype, "attention_backward: dy");
  check_matrix(args.dq, rows, args.q.columns(), dtype, "attention_backward: dq");
  check_matrix(args.dk, rows, args.k.columns(), dtype, "attention_backward: dk");
  check_matrix(args.dv, rows, args.k.columns(), dtype, "attention_backward: dv");
  stream.backend().attention.backward(stream, args);
}

}  // namespace convoy::ops
