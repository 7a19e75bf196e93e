// SPDX-License-Identifier: Apache-2.0
// What a Model holds of a chunk: the parts of the network that this rank computes, the activations and gradients
// between them.
#pragma once

#include <optional>

#include "libcore/model/blocks.h"
#include "libcore/model/embedding.h"
#include "libcore/model/head.h"
#include "libcore/model/model.h"
#include "libcore/model/table_parts.h"

namespace convoy::model {

struct Model::Network {
  Network(device::Stream& stream, const Config& model, Parameters& parameters, const Shard& part,
          const ModelSize& extent, int activation_sets);

  bool one_stage() const { return shard.first && shard.last; }
  // The weights' gradients of all blocks come after the inputs'. Not where blocks make their activations again.
  bool parts_apart() const { return !one_stage() && size.recompute == Recompute::kNone; }
  // Checks a batch and describes it. Targets are those of the last stage alone.
  MicroBatch micro_batch(const Batch& batch, bool with_targets, int set = 0);
  // From the embedding, or the input of the stage, to the final norm, or the output of the stage.
  void forward(device::Stream& stream, const MicroBatch& micro, bool saving);
  // Which rows of the stream are this rank's, where they are split.
  void share_rows(MicroBatch& micro);
  void plan_gradients(std::int64_t rows, tensor::DType dtype);
  void connect_gradients();

  Config config;  // of the whole model
  Config local;   // with the extents of this rank
  Shard shard;
  ModelSize size;
  int sets = 1;  // of activations
  TableParts parts;
  RotaryTable rotary;
  std::optional<Embedding> embedding;
  Blocks blocks;
  std::optional<Head> head;
  Workspace workspace;
  Buffers buffers;
  HeadActivations head_saved;
  // Blocks share buffers.dx, buffers.branch (which backward has no later use for) and buffers.dqkv, but the last one of
  // a stage before another gets its gradient in `incoming`. Where the parts are apart, every block has its own.
  GradientsOfBlock gradients;
  tensor::MutableView incoming;           // [R, C] where the next gradient of the stage's output is received
  tensor::MutableView default_positions;  // [B T] i32: 0 .. T-1 in every sequence
  std::vector<std::int64_t> shares;       // MicroBatch::shares
};

}  // namespace convoy::model
