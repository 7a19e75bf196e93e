// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/checkpoint/reshard.h"
#include "libcore/checkpoint/tiling.h"

namespace convoy::checkpoint {
namespace {

using tensor::Box;

// Boxes cover rows [begin, end) of their first dimension; a scalar counts as one row.
std::int64_t first_row(const Box& box) { return box.extent.rank() == 0 ? 0 : box.offset[0]; }
std::int64_t end_row(const Box& box) { return box.extent.rank() == 0 ? 1 : box.offset[0] + box.extent[0]; }

// A tensor's source boxes by their rows, so that a target box is held against its neighbours alone.
class SourceRows {
 public:
  SourceRows(const Manifest& source, std::vector<std::size_t> fragments)
      : source_(source), sorted_(std::move(fragments)) {
    std::sort(sorted_.begin(), sorted_.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(first_row(box(a)), a) < std::pair(first_row(box(b)), b);
    });
    std::int64_t furthest = 0;
    for (const std::size_t fragment : sorted_)
      furthest_.push_back(furthest = std::max(furthest, end_row(box(fragment))));
  }

  template <class Visit>
  void visit(const Box& target, Visit&& visit) const {
    const auto first = std::upper_bound(furthest_.begin(), furthest_.end(), first_row(target)) - furthest_.begin();
    for (auto i = static_cast<std::size_t>(first); i < sorted_.size(); ++i) {
      if (first_row(box(sorted_[i])) >= end_row(target)) return;
      if (const auto common = tensor::intersection(target, box(sorted_[i]))) visit(sorted_[i], *common);
    }
  }

 private:
  const Box& box(std::size_t fragment) const { return source_.fragments[fragment].box; }

  const Manifest& source_;
  std::vector<std::size_t> sorted_;
  std::vector<std::int64_t> furthest_;  // the last row that this box or one before it reaches
};

}  // namespace

ReshardPlan plan_reshard(const Manifest& source, std::vector<PlannedFile> files) {
  ReshardPlan plan;
  plan.files = std::move(files);
  plan.places.resize(source.tensors.size());
  plan.fragments.resize(source.tensors.size());
  for (std::size_t i = 0; i < source.fragments.size(); ++i) plan.fragments[source.fragments[i].tensor].push_back(i);
  for (std::size_t file = 0; file < plan.files.size(); ++file) {
    const std::vector<PlannedFragment>& fragments = plan.files[file].fragments;
    for (std::size_t i = 0; i < fragments.size(); ++i) plan.places[fragments[i].tensor].push_back({file, i});
  }
  for (std::size_t i = 0; i < source.tensors.size(); ++i) {
    std::vector<Box> boxes;
    for (const PlannedPlace& place : plan.places[i])
      boxes.push_back(plan.files[place.file].fragments[place.fragment].box);
    const std::string problem = tiling_problem(source.tensors[i].shape, boxes);
    check(problem.empty(),
          fmt::format("the target stores each element of {} once: {}", source.tensors[i].name, problem));
  }
  return plan;
}

std::vector<BoxCopy> copies_of(const Manifest& source, const ReshardPlan& plan, std::size_t tensor) {
  const SourceRows rows(source, plan.fragments[tensor]);
  std::vector<BoxCopy> copies;
  for (const PlannedPlace& place : plan.places[tensor]) {
    rows.visit(plan.files[place.file].fragments[place.fragment].box, [&](std::size_t fragment, const Box& box) {
      copies.push_back({fragment, place, box});
    });
  }
  return copies;
}

}  // namespace convoy::checkpoint
