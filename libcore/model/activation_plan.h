// SPDX-License-Identifier: Apache-2.0
// Where the activations of a stack of blocks lie: the one place that decides which of them are kept for backward. Sets
// of activations (one a block and micro-batch in flight) are planned one after the other, each by the same calls. What
// is kept has memory of its own in every set; what is made again has that of the first set in all of them.
#pragma once

#include "libcore/model/recompute.h"
#include "libcore/model/workspace.h"

namespace convoy::model {

class ActivationPlan {
 public:
  explicit ActivationPlan(Workspace& workspace, Recompute recompute = Recompute::kNone)
      : workspace_(workspace), recompute_(recompute) {}

  // Call between two sets.
  void next_set() {
    is_first_ = false;
    next_ = 0;
  }

  // Plans a tensor of the set. As with Workspace, `view` must not move until all is allocated.
  void plan(tensor::MutableView& view, const tensor::Shape& shape, tensor::DType dtype, Remaking remaking) {
    if (is_first_ || keeps(recompute_, remaking)) {
      workspace_.plan(view, shape, dtype);
    } else {
      workspace_.plan_in(view, *first_set_[next_]);
    }
    if (is_first_) first_set_.push_back(&view);
    ++next_;
  }

 private:
  Workspace& workspace_;
  Recompute recompute_;
  bool is_first_ = true;
  std::size_t next_ = 0;  // call of the set
  std::vector<tensor::MutableView*> first_set_;
};

}  // namespace convoy::model
