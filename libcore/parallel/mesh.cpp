// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "libcore/base/error.h"

namespace convoy::parallel {
namespace {

struct Axis {
  int Layout::*extent;
  int Coordinates::*coordinate;
};

Axis axis_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kTensor:
      return {&Layout::tensor, &Coordinates::tensor};
    case Dimension::kPipeline:
      return {&Layout::pipeline, &Coordinates::pipeline};
    case Dimension::kData:
      return {&Layout::data, &Coordinates::data};
  }
  throw InternalError("unknown dimension of a mesh");
}

// "0-3", "4", or "none".
std::string range_text(const Range& layers) {
  if (layers.size() <= 0) return "none";
  if (layers.size() == 1) return fmt::format("{}", layers.begin);
  return fmt::format("{}-{}", layers.begin, layers.end - 1);
}

// Of all chunks of a stage: "0-1, 4-5".
std::string layers_text(const Layout& layout, std::int64_t layers, int stage) {
  std::string text;
  for (int i = 0; i < layout.virtual_stages; ++i) {
    if (i > 0) text += ", ";
    text += range_text(layers_of(layout, layers, chunk_of_model(layout, stage, i)));
  }
  return text;
}

}  // namespace

std::string_view name_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kGpipe:
      return "gpipe";
    case ScheduleKind::kOneForwardOneBackward:
      return "1f1b";
    case ScheduleKind::kInterleaved:
      return "interleaved";
  }
  throw InternalError("unknown kind of schedule");
}

RankOrder rank_order_of(std::string_view text) {
  RankOrder order = kTensorPipelineData;
  do {
    if (text_of(order) == text) return order;
  } while (std::next_permutation(order.begin(), order.end()));
  throw InternalError(fmt::format("'{}' is no order of tp, pp and dp", text));
}

std::string text_of(const RankOrder& order) {
  constexpr std::array<std::string_view, 3> kNames = {"tp", "pp", "dp"};
  const auto name = [&](std::size_t i) { return kNames[static_cast<std::size_t>(order[i])]; };
  return fmt::format("{},{},{}", name(0), name(1), name(2));
}

Coordinates coordinates_of(const Layout& layout, int rank) {
  check(rank >= 0 && rank < layout.world(), fmt::format("rank {} is not of the {} of the mesh", rank, layout.world()));
  Coordinates at;
  for (const Dimension dimension : layout.rank_order) {
    const Axis axis = axis_of(dimension);
    at.*axis.coordinate = rank % layout.*axis.extent;
    rank /= layout.*axis.extent;
  }
  return at;
}

int rank_of(const Layout& layout, const Coordinates& at) {
  check(at.tensor >= 0 && at.tensor < layout.tensor && at.pipeline >= 0 && at.pipeline < layout.pipeline &&
            at.data >= 0 && at.data < layout.data,
        fmt::format("(dp {}, pp {}, tp {}) is outside of the mesh", at.data, at.pipeline, at.tensor));
  int rank = 0, stride = 1;
  for (const Dimension dimension : layout.rank_order) {
    const Axis axis = axis_of(dimension);
    rank += stride * at.*axis.coordinate;
    stride *= layout.*axis.extent;
  }
  return rank;
}

Range layers_of(const Layout& layout, std::int64_t layers, int chunk) {
  if (layout.pipeline_split.empty()) return partition(layers, layout.chunks(), chunk);
  const std::vector<std::int64_t>& split = layout.pipeline_split;
  check(chunk >= 0 && static_cast<std::size_t>(chunk) < split.size(), "a chunk has an entry of the pipeline split");
  Range range;
  for (int i = 0; i <= chunk; ++i) {
    range.begin = range.end;
    range.end += split[static_cast<std::size_t>(i)];
  }
  check(range.end <= layers, "a pipeline split has as many layers as the model");
  return range;
}

int chunk_of_model(const Layout& layout, int stage, int index) { return index * layout.pipeline + stage; }

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
                   node_width, rank, place, place_width, layers_text(layout, layers, at.pipeline));
  }
  return table;
}

}  // namespace convoy::parallel
