// SPDX-License-Identifier: Apache-2.0
#include "libcore/tensor/box.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "libcore/base/error.h"

namespace convoy::tensor {
namespace {

// Cuts a flat range of a box into boxes, dimension by dimension: rows that it covers whole are one box, a row that it
// covers in part is cut further.
class Cutter {
 public:
  explicit Cutter(const Box& box) : box_(box) {}

  std::vector<Box> cut(std::int64_t begin, std::int64_t end) {
    if (box_.extent.rank() == 0) return end > begin ? std::vector{box_} : std::vector<Box>{};
    descend(box_, 0, begin, end);
    return std::move(boxes_);
  }

 private:
  // `row` is one index in all dimensions before `dimension`, whole in the others; the range counts inside it.
  void descend(const Box& row, int dimension, std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    std::int64_t inner = 1;
    for (int d = dimension + 1; d < row.extent.rank(); ++d) inner *= row.extent[d];
    const std::int64_t first = begin / inner, last = end / inner;  // the rows that hold `begin` and `end`
    if (first == last) return descend(slice(row, dimension, first, 1), dimension + 1, begin % inner, end % inner);
    std::int64_t whole = first;
    if (begin % inner != 0) {
      descend(slice(row, dimension, first, 1), dimension + 1, begin % inner, inner);
      ++whole;
    }
    if (whole < last) boxes_.push_back(slice(row, dimension, whole, last - whole));
    if (end % inner != 0) descend(slice(row, dimension, last, 1), dimension + 1, 0, end % inner);
  }

  static Box slice(const Box& box, int dimension, std::int64_t first, std::int64_t count) {
    return {box.offset.with(dimension, box.offset[dimension] + first), box.extent.with(dimension, count)};
  }

  const Box& box_;
  std::vector<Box> boxes_;
};

}  // namespace

std::string Box::text() const {
  std::string text = "[";
  for (int d = 0; d < extent.rank(); ++d) {
    text += fmt::format("{}{}:{}", d > 0 ? ", " : "", offset[d], offset[d] + extent[d]);
  }
  return text + "]";
}

Box whole(const Shape& shape) {
  Shape origin = shape;
  for (int d = 0; d < shape.rank(); ++d) origin = origin.with(d, 0);
  return {origin, shape};
}

std::int64_t index_in_whole(const Shape& whole, const Box& box, std::int64_t element) {
  std::int64_t index = 0, stride = 1;
  for (int d = whole.rank(); d-- > 0;) {
    index += (box.offset[d] + element % box.extent[d]) * stride;
    element /= box.extent[d];
    stride *= whole[d];
  }
  return index;
}

std::optional<Box> intersection(const Box& a, const Box& b) {
  check(a.extent.rank() == b.extent.rank(), "boxes of one tensor have one rank");
  Box common = a;
  for (int d = 0; d < a.extent.rank(); ++d) {
    const std::int64_t begin = std::max(a.offset[d], b.offset[d]);
    const std::int64_t end = std::min(a.offset[d] + a.extent[d], b.offset[d] + b.extent[d]);
    if (begin >= end) return std::nullopt;
    common.offset = common.offset.with(d, begin);
    common.extent = common.extent.with(d, end - begin);
  }
  return common;
}

std::vector<Box> boxes_of_range(const Box& box, std::int64_t begin, std::int64_t end) {
  check(begin >= 0 && begin <= end && end <= box.count(), "the range lies in the box");
  return Cutter(box).cut(begin, end);
}

}  // namespace convoy::tensor
