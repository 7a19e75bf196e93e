// SPDX-License-Identifier: Apache-2.0
// A tensor's extents: up to four dimensions, outermost first.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace convoy::tensor {

constexpr int kMaxRank = 4;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }
  std::int64_t operator[](int dimension) const { return extents_[static_cast<std::size_t>(dimension)]; }
  Shape with(int dimension, std::int64_t extent) const;  // the same with one extent changed
  std::int64_t back() const { return extents_[static_cast<std::size_t>(rank_ - 1)]; }
  std::int64_t count() const;  // elements; 1 for rank 0
  std::string text() const;    // "[2, 3, 4]"
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

}  // namespace convoy::tensor
