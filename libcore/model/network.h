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
  // `parameter_hooks`: read when a pass runs.
  Network(device::Stream& stream, const Config& model, Parameters& parameters, const Shard& part,
          const ModelSize& extent, int activation_sets, const ParameterHooks& parameter_hooks);

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

  void pack(device::Stream& stream);
  std::size_t packed_bytes() const;
  // Called before a pass computes with a part: they bring its weights here, packed, where these come and go, and see to
  // it that its gradients may be added to. The blocks call theirs themselves.
  void need_embedding();
  void need_embedding_gradients();
  void need_block(device::Stream& stream, std::size_t block, Pass pass);
  void need_block_gradients(std::size_t block);
  void need_head(device::Stream& stream, Pass pass);
  void connect_blocks();

  Config config;  // of the whole model
  Config local;   // with the extents of this rank
  Shard shard;
  ModelSize size;
  int sets = 1;  // of activations
  TableParts parts;
  const ParameterHooks& hooks;
  bool weights_come_and_go = false;
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
  // Of weights that come and go: which block's weights each set of packed forms has, and whether the head's are packed.
  std::vector<std::size_t> packed_block;
  bool head_is_packed = false;
};

}  // namespace convoy::model
