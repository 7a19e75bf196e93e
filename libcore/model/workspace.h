// SPDX-License-Identifier: Apache-2.0
// One arena for all activations of a model: views are planned first and point into the arena once it is allocated.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/device/arena.h"
#include "libcore/tensor/view.h"

namespace convoy::model {

class Workspace {
 public:
  // Plans a dense tensor. `view` is filled by allocate(): it must not move until then.
  void plan(tensor::MutableView& view, const tensor::Shape& shape, tensor::DType dtype) {
    view = {nullptr, dtype, shape, 0};
    planned_.emplace_back(&view, arena_.reserve(static_cast<std::size_t>(shape.count()) * tensor::size_of(dtype)));
  }

  // Plans two tensors in the same memory, for values that are never needed at the same time.
  void plan_overlapping(tensor::MutableView& a, const tensor::Shape& a_shape, tensor::MutableView& b,
                        const tensor::Shape& b_shape, tensor::DType dtype) {
    const std::int64_t count = std::max(a_shape.count(), b_shape.count());
    const std::size_t offset = arena_.reserve(static_cast<std::size_t>(count) * tensor::size_of(dtype));
    a = {nullptr, dtype, a_shape, 0};
    b = {nullptr, dtype, b_shape, 0};
    planned_.emplace_back(&a, offset);
    planned_.emplace_back(&b, offset);
  }

  // Plans a tensor in the memory of another one of its extents that was planned before, for values of which one is
  // needed at a time.
  void plan_in(tensor::MutableView& view, const tensor::MutableView& other) {
    const auto found =
        std::find_if(planned_.begin(), planned_.end(), [&](const auto& planned) { return planned.first == &other; });
    check(found != planned_.end(), "memory is shared with a tensor that was planned before");
    view = other;
    planned_.emplace_back(&view, found->second);
  }

  void allocate() {
    arena_.allocate({});
    for (const auto& [view, offset] : planned_) view->data = arena_.at(offset);
    planned_.clear();
  }

  std::size_t bytes() const { return arena_.size(); }

 private:
  device::Arena arena_{"activations"};
  std::vector<std::pair<tensor::MutableView*, std::size_t>> planned_;
};

}  // namespace convoy::model
