// SPDX-License-Identifier: Apache-2.0
#include "libcore/checkpoint/tiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace convoy::checkpoint {
namespace {

using tensor::Box;
using Boxes = std::vector<const Box*>;

bool covers(const Box& box, const Box& region) {
  for (int d = 0; d < region.extent.rank(); ++d) {
    if (box.offset[d] > region.offset[d] || box.offset[d] + box.extent[d] < region.offset[d] + region.extent[d])
      return false;
  }
  return true;
}

struct Cut {
  int dimension = 0;
  std::int64_t at = 0;
};

// A face of some box inside the region, the middle one of the dimension that has most: halving them bounds the depth.
std::optional<Cut> middle_face(const Boxes& boxes, const Box& region) {
  std::optional<Cut> best;
  std::size_t most = 0;
  std::vector<std::int64_t> faces;
  for (int d = 0; d < region.extent.rank(); ++d) {
    const std::int64_t begin = region.offset[d], end = begin + region.extent[d];
    faces.clear();
    for (const Box* box : boxes) {
      for (const std::int64_t face : {box->offset[d], box->offset[d] + box->extent[d]})
        if (face > begin && face < end) faces.push_back(face);
    }
    std::sort(faces.begin(), faces.end());
    faces.erase(std::unique(faces.begin(), faces.end()), faces.end());
    if (faces.size() <= most) continue;
    most = faces.size();
    best = Cut{d, faces[faces.size() / 2]};
  }
  return best;
}

// Splits the region at faces of the boxes until each part is inside of all boxes that reach into it: then there must be
// one.
std::string problem_in(const Box& region, const Boxes& boxes) {
  if (boxes.empty()) return fmt::format("no fragment holds {}", region.text());
  if (boxes.size() == 1 && covers(*boxes[0], region)) return {};
  const std::optional<Cut> cut = middle_face(boxes, region);
  if (!cut) {
    return fmt::format("fragments {} and {} overlap in {}", boxes[0]->text(), boxes[1]->text(), region.text());
  }
  const auto [d, at] = *cut;
  const std::int64_t begin = region.offset[d], end = begin + region.extent[d];
  const Box low{region.offset, region.extent.with(d, at - begin)};
  const Box high{region.offset.with(d, at), region.extent.with(d, end - at)};
  Boxes below, above;
  for (const Box* box : boxes) {
    if (box->offset[d] < at) below.push_back(box);
    if (box->offset[d] + box->extent[d] > at) above.push_back(box);
  }
  std::string problem = problem_in(low, below);
  return problem.empty() ? problem_in(high, above) : problem;
}

}  // namespace

std::string tiling_problem(const tensor::Shape& shape, std::span<const Box> boxes) {
  Boxes all;
  for (const Box& box : boxes) all.push_back(&box);
  return problem_in(tensor::whole(shape), all);
}

}  // namespace convoy::checkpoint
