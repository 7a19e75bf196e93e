// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

// "0-3", "4", or "none".
std::string layers_text(const Range& layers) {
  if (layers.size() <= 0) return "none";
  if (layers.size() == 1) return fmt::format("{}", layers.begin);
  return fmt::format("{}-{}", layers.begin, layers.end - 1);
}

}  // namespace

Coordinates coordinates_of(const Layout& layout, int rank) {
  check(rank >= 0 && rank < layout.world(), fmt::format("rank {} is not of the {} of the mesh", rank, layout.world()));
  return {.tensor = rank % layout.tensor,
          .pipeline = rank / layout.tensor % layout.pipeline,
          .data = rank / layout.tensor / layout.pipeline};
}

int rank_of(const Layout& layout, const Coordinates& at) {
  check(at.tensor >= 0 && at.tensor < layout.tensor && at.pipeline >= 0 && at.pipeline < layout.pipeline &&
            at.data >= 0 && at.data < layout.data,
        fmt::format("(dp {}, pp {}, tp {}) is outside of the mesh", at.data, at.pipeline, at.tensor));
  return (at.data * layout.pipeline + at.pipeline) * layout.tensor + at.tensor;
}

Range layers_of(const Layout& layout, std::int64_t layers, int stage) {
  if (layout.pipeline_split.empty()) return partition(layers, layout.pipeline, stage);
  const std::vector<std::int64_t>& split = layout.pipeline_split;
  check(stage >= 0 && static_cast<std::size_t>(stage) < split.size(), "a stage has an entry of the pipeline split");
  Range range;
  for (int i = 0; i <= stage; ++i) {
    range.begin = range.end;
    range.end += split[static_cast<std::size_t>(i)];
  }
  check(range.end <= layers, "a pipeline split has as many layers as the model");
  return range;
}

std::string mesh_table(const Layout& layout, std::int64_t layers, const std::vector<std::string>& nodes) {
  check(nodes.size() == static_cast<std::size_t>(layout.world()), "each rank of the mesh has a node");
  std::size_t node_width = 4;
  for (const std::string& node : nodes) node_width = std::max(node_width, node.size());
  const std::string last = fmt::format("({}, {}, {})", layout.data - 1, layout.pipeline - 1, layout.tensor - 1);
  const std::size_t place_width = std::max(last.size(), std::string_view("(dp, pp, tp)").size());

  std::string table =
      fmt::format("{:<{}}  {:>6}  {:<{}}  {}\n", "node", node_width, "rank", "(dp, pp, tp)", place_width, "layers");
  for (int rank = 0; rank < layout.world(); ++rank) {
    const Coordinates at = coordinates_of(layout, rank);
    const std::string place = fmt::format("({}, {}, {})", at.data, at.pipeline, at.tensor);
    fmt::format_to(std::back_inserter(table), "{:<{}}  {:>6}  {:<{}}  {}\n", nodes[static_cast<std::size_t>(rank)],
                   node_width, rank, place, place_width, layers_text(layers_of(layout, layers, at.pipeline)));
  }
  return table;
}

}  // namespace convoy::parallel
