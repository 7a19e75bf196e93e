// SPDX-License-Identifier: Apache-2.0
// Which rank does what: the layout of a run and the coordinates of its ranks. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/parallel/partition.h"

namespace convoy::parallel {

enum class ScheduleKind { kGpipe, kOneForwardOneBackward, kInterleaved };
std::string_view name_of(ScheduleKind kind);  // "gpipe", "1f1b", "interleaved"

enum class Dimension { kTensor, kPipeline, kData };
// From the innermost, whose neighbours are neighbours among the ranks.
using RankOrder = std::array<Dimension, 3>;
constexpr RankOrder kTensorPipelineData = {Dimension::kTensor, Dimension::kPipeline, Dimension::kData};
// "tp,pp,dp" in any order; InternalError for anything else.
RankOrder rank_order_of(std::string_view text);
std::string text_of(const RankOrder& order);

struct Layout {
  int tensor = 1;    // ranks that share every matrix
  int pipeline = 1;  // stages
  int data = 1;      // replicas
  int zero = 0;      // what replicas share: 1 optimizer states, 2 gradients too, 3 weights too (sharding.h)
  ScheduleKind schedule = ScheduleKind::kOneForwardOneBackward;
  std::vector<std::int64_t> pipeline_split = {};  // layers a chunk, in model order; empty: partition()
  int virtual_stages = 1;                         // chunks of layers a stage
  RankOrder rank_order = kTensorPipelineData;
  bool sequence_parallel = false;  // tensor ranks share the rows of the residual stream too

  int world() const { return tensor * pipeline * data; }
  int chunks() const { return pipeline * virtual_stages; }  // of the model
};

struct Coordinates {
  int tensor = 0, pipeline = 0, data = 0;
  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};

Coordinates coordinates_of(const Layout& layout, int rank);
int rank_of(const Layout& layout, const Coordinates& at);

// The layers of chunk `chunk` of the model; without virtual stages the chunks are the stages.
Range layers_of(const Layout& layout, std::int64_t layers, int chunk);
// Which chunk of the model chunk `index` of a stage is: those of a stage are `pipeline` apart.
int chunk_of_model(const Layout& layout, int stage, int index);

// What the layout asks of a model and a batch.
struct ModelExtents {
  std::int64_t layers = 0, heads = 0, key_value_heads = 0, ffn_width = 0, vocabulary = 0;
};

// Every reason why the layout cannot train this model with this batch on `world` ranks, each naming flag, value, rule
// and the nearest legal values; empty if it can.
std::vector<std::string> layout_problems(const Layout& layout, int world, const ModelExtents& model,
                                         std::int64_t global_batch, std::int64_t micro_batch);

// A line a rank: node, rank, (dp, pp, tp), layers; `nodes` has the name of each rank's node.
std::string mesh_table(const Layout& layout, std::int64_t layers, const std::vector<std::string>& nodes);

}  // namespace convoy::parallel
