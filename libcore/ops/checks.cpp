// SPDX-License-Identifier: Apache-2.0
#include "libcore/ops/checks.h"

#include <fmt/format.h>

#include "libcore/base/error.h"

namespace convoy::ops {
namespace {

using tensor::DType;
using tensor::View;

[[noreturn]] void refuse(const View& view, std::string_view what, std::string_view expected) {
  if (!view.present()) throw InternalError(fmt::format("{}: expected {}, but no tensor was given", what, expected));
  throw InternalError(fmt::format("{}: expected {}, found {} {} with a row stride of {}", what, expected,
                                  tensor::name_of(view.dtype), view.shape.text(), view.stride()));
}

}  // namespace

void check_matrix(const View& view, std::int64_t rows, std::int64_t columns, DType dtype, std::string_view what) {
  const bool fits = view.present() && view.dtype == dtype && view.columns() == columns && view.rows() == rows;
  if (fits && view.stride() >= columns) return;
  refuse(view, what, fmt::format("{} [{}, {}]", tensor::name_of(dtype), rows, columns));
}

void check_dense(const View& view, std::int64_t count, DType dtype, std::string_view what) {
  if (view.present() && view.dtype == dtype && view.count() == count && view.dense()) return;
  refuse(view, what, fmt::format("{} of {} dense elements", tensor::name_of(dtype), count));
}

void check_float(DType dtype, std::string_view what) {
  if (dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16) return;
  throw InternalError(fmt::format("{}: expected fp32, bf16 or fp16, found {}", what, tensor::name_of(dtype)));
}

}  // namespace convoy::ops
