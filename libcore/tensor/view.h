// SPDX-License-Identifier: Apache-2.0
// Borrowed tensors. Row-major; the last dimension is dense, and all but the innermost are dense too unless row_stride says
// otherwise: a view is `rows()` rows of `columns()` elements, `row_stride` elements apart.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "libcore/tensor/dtype.h"
#include "libcore/tensor/shape.h"

namespace convoy::tensor {

template <class Pointer>
struct BasicView {
  Pointer data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;
  std::int64_t row_stride = 0;  // elements from one row to the next; 0 means dense

  bool present() const { return data != nullptr; }
  std::int64_t count() const { return shape.count(); }
  std::int64_t columns() const { return shape.rank() == 0 ? 1 : shape.back(); }
  std::int64_t rows() const { return columns() == 0 ? 0 : shape.count() / columns(); }
  std::int64_t stride() const { return row_stride == 0 ? columns() : row_stride; }
  bool dense() const { return row_stride == 0 || row_stride == columns(); }

  template <class T>
  auto as() const {
    if constexpr (std::is_const_v<std::remove_pointer_t<Pointer>>) {
      return static_cast<const T*>(data);
    } else {
      return static_cast<T*>(data);
    }
  }
};

using MutableView = BasicView<void*>;

struct View : BasicView<const void*> {
  View() = default;
  View(const void* pointer, DType type, Shape extents, std::int64_t stride = 0)
      : BasicView<const void*>{pointer, type, extents, stride} {}
  View(const MutableView& view)  // NOLINT: a borrower for reading is a borrower for writing that promises less
      : BasicView<const void*>{view.data, view.dtype, view.shape, view.row_stride} {}
};

// Rows [begin, end) of a view, as [end - begin, columns].
View rows_of(const View& view, std::int64_t begin, std::int64_t end);
MutableView rows_of(const MutableView& view, std::int64_t begin, std::int64_t end);
// Columns [begin, end) of every row: [..., end - begin] with the row stride kept.
View columns_of(const View& view, std::int64_t begin, std::int64_t end);
MutableView columns_of(const MutableView& view, std::int64_t begin, std::int64_t end);

// Elements [begin, end) of a dense view, flat; and a dense view under another shape of as many elements.
View flat_part(const View& view, std::int64_t begin, std::int64_t end);
MutableView flat_part(const MutableView& view, std::int64_t begin, std::int64_t end);
View reshaped(const View& view, const Shape& shape);
MutableView reshaped(const MutableView& view, const Shape& shape);

// Throws InternalError naming `what` unless the view is present and has this shape and dtype.
void expect(const View& view, const Shape& shape, DType dtype, std::string_view what);

}  // namespace convoy::tensor
