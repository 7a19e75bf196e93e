// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/network.h"

#include <fmt/format.h>

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/ops/classifier.h"
#include "libcore/ops/optimizer.h"
#include "libcore/tensor/tensor.h"

namespace convoy::model {

using tensor::DType;
using tensor::MutableView;
using tensor::View;

Model::Network::Network(device::Stream& stream, const Config& model, Parameters& parameters, const Shard& part,
                        const ModelSize& extent, int activation_sets, const ParameterHooks& parameter_hooks)
    : config(model),
      local(local_config(model, part)),
      shard(part),
      size(extent),
      sets(activation_sets),
      parts(parts_of(parameters.table(), part, model.layers)),
      hooks(parameter_hooks),
      weights_come_and_go(parameters.sharding().weights),
      rotary(model.architecture != Architecture::kGpt2 ? make_rotary_table(model, extent.sequence) : RotaryTable{}),
      blocks(make_blocks(stream, model, parameters, rotary, part, extent, activation_sets)) {
  const std::int64_t rows = size.batch * size.sequence, own_rows = shard.most_own_rows(rows);
  const bool split = shard.row_peers() != nullptr;
  if (split) shares.resize(static_cast<std::size_t>(shard.tensor_size));
  const DType dtype = parameters.compute_dtype();
  if (shard.first) embedding = make_embedding(parameters, config, shard);
  plan(workspace, blocks, local, rows, own_rows, dtype);
  plan(workspace, buffers, local, rows, own_rows, split, dtype, size.training);
  if (shard.last) {
    head = make_head(stream, config, parameters, shard);
    head_saved.norms.resize(static_cast<std::size_t>(sets));
    plan(workspace, head_saved, config, rows, dtype, size, shard);
  }
  workspace.plan(default_positions, {rows}, DType::kI32);
  if (size.training) plan_gradients(rows, dtype);
  workspace.allocate();
  connect_gradients();
  connect_blocks();
}

void Model::Network::plan_gradients(std::int64_t rows, DType dtype) {
  gradients.resize(static_cast<std::size_t>(shard.layers.size()));
  const tensor::Shape stream_shape{shard.most_own_rows(rows), config.width};
  if (!shard.last) workspace.plan(incoming, stream_shape, dtype);
  if (!parts_apart()) return;
  for (BlockGradients& block : gradients) {
    workspace.plan(block.behind, stream_shape, dtype);
    workspace.plan(block.middle, stream_shape, dtype);
    workspace.plan(block.dqkv, {rows, qkv_width(local)}, dtype);
  }
}

void Model::Network::connect_gradients() {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    BlockGradients& block = gradients[i];
    if (!parts_apart()) {
      block = {.behind = buffers.dx, .middle = buffers.branch, .before = buffers.dx, .dqkv = buffers.dqkv};
    } else {
      block.before = i == 0 ? buffers.dx : gradients[i - 1].behind;
    }
  }
  if (!gradients.empty() && !parts_apart() && !shard.last) gradients.back().behind = incoming;
}

void Model::Network::connect_blocks() {
  if (weights_come_and_go) packed_block.assign(kLayerSlots, parallel::LayerShards::kNone);
  set_block_hooks(blocks, {.weights_needed = [this](device::Stream& stream, std::size_t block,
                                                    Pass pass) { need_block(stream, block, pass); },
                           .gradients_needed = [this](std::size_t block) { need_block_gradients(block); }});
}

void Model::Network::pack(device::Stream& stream) {
  if (weights_come_and_go) {
    std::fill(packed_block.begin(), packed_block.end(), parallel::LayerShards::kNone);
    head_is_packed = false;
    return;
  }
  model::pack(stream, blocks);
  if (head) model::pack(stream, head->classifier);
}

std::size_t Model::Network::packed_bytes() const {
  return model::packed_bytes(blocks) + (head ? head->classifier.packed.bytes() : 0);
}

void Model::Network::need_embedding() {
  if (hooks.weights_needed) hooks.weights_needed(0, parts.blocks.front().begin);
}

void Model::Network::need_embedding_gradients() {
  if (hooks.gradients_needed) hooks.gradients_needed(0);
}

void Model::Network::need_block(device::Stream& stream, std::size_t block, Pass pass) {
  if (!weights_come_and_go) return;
  const std::size_t next = pass == Pass::kForward ? block + 1 : block - 1;  // beyond the ends: no block
  const bool goes_on = next < parts.blocks.size();
  if (hooks.weights_needed)
    hooks.weights_needed(parts.blocks[block].begin, goes_on ? parts.blocks[next].begin : parallel::LayerShards::kNone);
  std::size_t& packed = packed_block[block % kLayerSlots];
  if (packed == block) return;
  pack_block(stream, blocks, block);
  packed = block;
}

void Model::Network::need_block_gradients(std::size_t block) {
  if (hooks.gradients_needed) hooks.gradients_needed(parts.blocks[block].begin);
}

void Model::Network::need_head(device::Stream& stream, Pass pass) {
  const bool backward = pass == Pass::kBackward;
  // A tied classifier is the embedding.
  for (const std::size_t index : {parts.head.begin, config.tied_embeddings ? 0 : parts.head.begin}) {
    if (hooks.weights_needed)
      hooks.weights_needed(index, backward ? parts.blocks.back().begin : parallel::LayerShards::kNone);
    if (backward && hooks.gradients_needed) hooks.gradients_needed(index);
  }
  if (!weights_come_and_go || head_is_packed) return;
  model::pack(stream, head->classifier);
  head_is_packed = true;
}

namespace {

View flat(const View& view) { return {view.data, view.dtype, {view.count()}}; }

[[noreturn]] void refuse(const char* what, std::int32_t value, std::int64_t index, std::int64_t sequence,
                         const std::string& rule) {
  throw DataError(fmt::format("{} {} at sequence {}, position {} of the micro-batch is not {}", what, value,
                              index / sequence, index % sequence, rule));
}

// A wrong id would read outside a table, or silently count nothing.
void check_ids(const MicroBatch& micro, const Config& config) {
  const auto vocabulary = static_cast<std::uint32_t>(config.vocabulary);
  const auto* tokens = micro.tokens.as<std::int32_t>();
  const auto* targets = micro.targets.as<std::int32_t>();
  for (std::int64_t i = 0; i < micro.rows(); ++i) {
    if (static_cast<std::uint32_t>(tokens[i]) >= vocabulary) {
      refuse("token id", tokens[i], i, micro.sequence, fmt::format("below the model's vocabulary of {}", vocabulary));
    }
    if (targets != nullptr && targets[i] != ops::kIgnoredTarget &&
        static_cast<std::uint32_t>(targets[i]) >= vocabulary) {
      refuse("target id", targets[i], i, micro.sequence, fmt::format("below the model's vocabulary of {}", vocabulary));
    }
  }
  const auto* positions = micro.positions.as<std::int32_t>();
  for (std::int64_t i = 0; micro.documents && i < micro.rows(); ++i) {
    const bool follows = i % micro.sequence != 0 && positions[i] == positions[i - 1] + 1;
    if (positions[i] != 0 && !follows)
      refuse("position", positions[i], i, micro.sequence, "0 or one more than the one before");
  }
}

}  // namespace

MicroBatch Model::Network::micro_batch(const Batch& batch, bool with_targets, int set) {
  check(batch.tokens.shape.rank() == 2, "a batch's tokens are [B, T]");
  const tensor::Shape& shape = batch.tokens.shape;
  tensor::expect(batch.tokens, shape, DType::kI32, "batch.tokens");
  if (with_targets) tensor::expect(batch.targets, shape, DType::kI32, "batch.targets");
  check(shape[0] <= size.batch && shape[1] <= size.sequence, "a batch is no larger than the model was made for");
  check(set >= 0 && set < sets, "a set of activations is one of those that the model was made with");
  MicroBatch micro{
      .batch = shape[0], .sequence = shape[1], .tokens = flat(batch.tokens), .targets = {}, .positions = {}};
  micro.set = static_cast<std::size_t>(set);
  micro.dropout = batch.dropout;
  if (with_targets) micro.targets = flat(batch.targets);
  if (batch.positions.present()) {
    tensor::expect(batch.positions, shape, DType::kI32, "batch.positions");
    micro.documents = true;
    micro.positions = flat(batch.positions);
  } else {
    auto* positions = default_positions.as<std::int32_t>();
    for (std::int64_t i = 0; i < micro.rows(); ++i) positions[i] = static_cast<std::int32_t>(i % micro.sequence);
    micro.positions = {positions, DType::kI32, {micro.rows()}};
  }
  check_ids(micro, config);
  share_rows(micro);
  return micro;
}

void Model::Network::share_rows(MicroBatch& micro) {
  micro.row_peers = shard.row_peers();
  if (micro.row_peers == nullptr) return;
  for (int rank = 0; rank < shard.tensor_size; ++rank) {
    const parallel::Range rows = parallel::partition(micro.rows(), shard.tensor_size, rank);
    shares[static_cast<std::size_t>(rank)] = rows.size() * config.width;
    if (rank == shard.tensor_rank) micro.own = rows;
  }
  micro.shares = shares;
}

void Model::Network::forward(device::Stream& stream, const MicroBatch& micro, bool saving) {
  if (embedding) {
    need_embedding();
    model::forward(stream, *embedding, micro, buffers.whole, model::input(blocks, micro, saving));
  }
  const Residual residual = model::forward(stream, local, blocks, micro, buffers, saving);
  if (head) {
    need_head(stream, Pass::kForward);
    forward_norm(stream, *head, micro, residual, head_saved);
  } else if (micro.own_rows().size() > 0) {
    ops::add(stream, residual.sum, micro.own_of(buffers.branch));
  }
}

}  // namespace convoy::model
