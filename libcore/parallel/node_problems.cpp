// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/node_problems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

// The ranks of the first group that spans nodes; none if every group is on one.
std::vector<int> group_across_nodes(const Layout& layout, const std::vector<std::string>& nodes) {
  for (int first = 0; first < layout.world(); ++first) {
    Coordinates at = coordinates_of(layout, first);
    if (at.tensor > 0) continue;
    std::vector<int> ranks;
    bool spans = false;
    for (; at.tensor < layout.tensor; ++at.tensor) {
      ranks.push_back(rank_of(layout, at));
      spans = spans || nodes[static_cast<std::size_t>(ranks.back())] != nodes[static_cast<std::size_t>(first)];
    }
    if (spans) return ranks;
  }
  return {};
}

// The largest smaller number of tensor-parallel ranks that keeps every group on a node, the replicas multiplying. A
// divisor, so that it divides what the greater one divides.
int nearest_within_nodes(Layout layout, const std::vector<std::string>& nodes) {
  const int asked = layout.tensor, replicas = layout.data;
  for (int tensor = asked - 1; tensor > 1; --tensor) {
    if (asked % tensor != 0) continue;
    layout.tensor = tensor;
    layout.data = replicas * (asked / tensor);
    if (group_across_nodes(layout, nodes).empty()) return tensor;
  }
  return 1;
}

bool innermost_would_do(Layout layout, const std::vector<std::string>& nodes) {
  layout.rank_order = kTensorPipelineData;
  return group_across_nodes(layout, nodes).empty();
}

}  // namespace

std::string tensor_across_nodes_problem(const Layout& layout, const std::vector<std::string>& nodes) {
  check(nodes.size() == static_cast<std::size_t>(layout.world()), "each rank of the mesh has a node");
  const std::vector<int> ranks = group_across_nodes(layout, nodes);
  if (ranks.empty()) return "";
  std::set<std::string> spanned;
  for (const int rank : ranks) spanned.insert(nodes[static_cast<std::size_t>(rank)]);
  const std::string order =
      layout.rank_order == kTensorPipelineData ? "" : fmt::format(" with --rank-order {}", text_of(layout.rank_order));
  const std::string reorder =
      innermost_would_do(layout, nodes) ? fmt::format(", or --rank-order {}", text_of(kTensorPipelineData)) : "";
  return fmt::format(
      "--tensor-parallel {}{}: ranks {} share every matrix but are on nodes {}, and would wait for the network between "
      "them at every product; nearest legal value: {}{}; or add --allow-tensor-parallel-across-nodes",
      layout.tensor, order, fmt::join(ranks, ", "), fmt::join(spanned, ", "), nearest_within_nodes(layout, nodes),
      reorder);
}

}  // namespace convoy::parallel
