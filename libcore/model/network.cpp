// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/network.h"

#include <fmt/format.h>

#include "libcore/base/error.h"
#include "libcore/ops/classifier.h"
#include "libcore/ops/optimizer.h"
#include "libcore/tensor/tensor.h"

namespace convoy::model {

using tensor::DType;
using tensor::MutableView;
using tensor::View;

Model::Network::Network(device::Stream& stream, const Config& model, Parameters& parameters, const Shard& part,
                        const ModelSize& extent, int activation_sets)
    : config(model),
      local(local_config(model, part)),
      shard(part),
      size(extent),
      sets(activation_sets),
      parts(parts_of(parameters.table(), part, model.layers)),
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
  if (embedding) model::forward(stream, *embedding, micro, buffers.whole, model::input(blocks, micro, saving));
  const Residual residual = model::forward(stream, local, blocks, micro, buffers, saving);
  if (head) {
    forward_norm(stream, *head, micro, residual, head_saved);
  } else if (micro.own_rows().size() > 0) {
    ops::add(stream, residual.sum, micro.own_of(buffers.branch));
  }
}

}  // namespace convoy::model
