// SPDX-License-Identifier: Apache-2.0
#include "libcore/tensor/view.h"

#include <fmt/format.h>

#include <cstddef>

#include "libcore/base/error.h"

namespace convoy::tensor {
namespace {

std::int64_t bytes_of(std::int64_t elements, DType dtype) {
  return elements * static_cast<std::int64_t>(size_of(dtype));
}

const void* moved(const void* data, std::int64_t bytes) { return static_cast<const std::byte*>(data) + bytes; }
void* moved(void* data, std::int64_t bytes) { return static_cast<std::byte*>(data) + bytes; }

template <class AnyView>
AnyView some_rows(const AnyView& view, std::int64_t begin, std::int64_t end) {
  check(0 <= begin && begin <= end && end <= view.rows(), "a range of rows lies inside its view");
  AnyView part = view;
  part.data = moved(view.data, bytes_of(begin * view.stride(), view.dtype));
  part.shape = {end - begin, view.columns()};
  return part;
}

template <class AnyView>
AnyView some_columns(const AnyView& view, std::int64_t begin, std::int64_t end) {
  check(view.shape.rank() >= 1, "a view that is cut by columns has some");
  check(0 <= begin && begin <= end && end <= view.columns(), "a range of columns lies inside its view");
  AnyView part = view;
  part.data = moved(view.data, bytes_of(begin, view.dtype));
  part.shape = view.shape.with(view.shape.rank() - 1, end - begin);
  part.row_stride = view.stride();
  return part;
}

template <class AnyView>
AnyView some_elements(const AnyView& view, std::int64_t begin, std::int64_t end) {
  check(view.dense(), "a view that is taken flat is dense");
  check(0 <= begin && begin <= end && end <= view.count(), "a range of elements lies inside its view");
  AnyView part = view;
  part.data = moved(view.data, bytes_of(begin, view.dtype));
  part.shape = {end - begin};
  part.row_stride = 0;
  return part;
}

template <class AnyView>
AnyView with_shape(const AnyView& view, const Shape& shape) {
  check(view.dense() && view.count() == shape.count(), "a dense view takes another shape of as many elements");
  AnyView same = view;
  same.shape = shape;
  same.row_stride = 0;
  return same;
}

}  // namespace

View rows_of(const View& view, std::int64_t begin, std::int64_t end) { return some_rows(view, begin, end); }
MutableView rows_of(const MutableView& view, std::int64_t begin, std::int64_t end) {
  return some_rows(view, begin, end);
}
View columns_of(const View& view, std::int64_t begin, std::int64_t end) { return some_columns(view, begin, end); }
MutableView columns_of(const MutableView& view, std::int64_t begin, std::int64_t end) {
  return some_columns(view, begin, end);
}

View flat_part(const View& view, std::int64_t begin, std::int64_t end) { return some_elements(view, begin, end); }
MutableView flat_part(const MutableView& view, std::int64_t begin, std::int64_t end) {
  return some_elements(view, begin, end);
}
View reshaped(const View& view, const Shape& shape) { return with_shape(view, shape); }
MutableView reshaped(const MutableView& view, const Shape& shape) { return with_shape(view, shape); }

void expect(const View& view, const Shape& shape, DType dtype, std::string_view what) {
  if (!view.present())
    throw InternalError(fmt::format("{}: missing, expected {} {}", what, name_of(dtype), shape.text()));
  if (view.shape == shape && view.dtype == dtype) return;
  throw InternalError(fmt::format("{}: expected {} {}, got {} {}", what, name_of(dtype), shape.text(),
                                  name_of(view.dtype), view.shape.text()));
}

}  // namespace convoy::tensor
