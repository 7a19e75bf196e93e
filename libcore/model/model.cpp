// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/model.h"

#include <fmt/format.h>

#include "libcore/base/error.h"
#include "libcore/model/blocks.h"
#include "libcore/model/embedding.h"
#include "libcore/model/head.h"
#include "libcore/ops/classifier.h"
#include "libcore/tensor/tensor.h"

namespace convoy::model {
namespace {

using tensor::DType;
using tensor::MutableView;
using tensor::View;

void validate(const Config& config, const Parameters& parameters, std::int64_t batch, std::int64_t sequence,
              bool training) {
  check(batch > 0 && sequence > 0, "a micro-batch has at least one token");
  check(!training || parameters.size() == 0 || parameters.gradient(0).present(), "training needs gradients");
  if (sequence > config.positions) {
    throw ConfigError(fmt::format("sequence length {} exceeds the model's {} positions; choose at most {}", sequence,
                                  config.positions, config.positions));
  }
  if (training && config.dropout > 0.0) {
    throw ConfigError(fmt::format(
        "the model's configuration asks for dropout {}, which is not supported; train with dropout 0", config.dropout));
  }
}

View flat(const View& view) { return {view.data, view.dtype, {view.count()}}; }

}  // namespace

struct Model::Network {
  Network(device::Stream& stream, const Config& model, Parameters& parameters, std::int64_t batch,
          std::int64_t sequence, bool train)
      : config(model),
        max_batch(batch),
        max_sequence(sequence),
        training(train),
        tensors(parameters.size()),
        rotary(model.architecture == Architecture::kLlama ? make_rotary_table(model, sequence) : RotaryTable{}),
        embedding(make_embedding(parameters, model)),
        blocks(make_blocks(stream, model, parameters, rotary, train)),
        head(make_head(stream, model, parameters)) {
    const std::int64_t rows = batch * sequence;
    const DType dtype = parameters.compute_dtype();
    plan(workspace, blocks, config, rows, dtype);
    plan(workspace, buffers, config, rows, dtype, training);
    plan(workspace, head_saved, config, rows, dtype, training);
    workspace.plan(default_positions, {rows}, DType::kI32);
    workspace.allocate();
  }

  MicroBatch micro_batch(const Batch& batch, bool with_targets);
  // The network up to the final norm.
  void forward_network(device::Stream& stream, const MicroBatch& micro, bool saving);

  Config config;
  std::int64_t max_batch, max_sequence;
  bool training;
  std::size_t tensors;  // in this rank's table
  RotaryTable rotary;
  Embedding embedding;
  Blocks blocks;
  Head head;
  Workspace workspace;
  Buffers buffers;
  HeadActivations head_saved;
  MutableView default_positions;  // [B T] i32: 0 .. T-1 in every sequence
};

namespace {

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

MicroBatch Model::Network::micro_batch(const Batch& batch, bool with_targets) {
  check(batch.tokens.shape.rank() == 2, "a batch's tokens are [B, T]");
  const tensor::Shape& shape = batch.tokens.shape;
  tensor::expect(batch.tokens, shape, DType::kI32, "batch.tokens");
  if (with_targets) tensor::expect(batch.targets, shape, DType::kI32, "batch.targets");
  check(shape[0] <= max_batch && shape[1] <= max_sequence, "a batch is no larger than the model was made for");
  MicroBatch micro{
      .batch = shape[0], .sequence = shape[1], .tokens = flat(batch.tokens), .targets = {}, .positions = {}};
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
  return micro;
}

void Model::Network::forward_network(device::Stream& stream, const MicroBatch& micro, bool saving) {
  model::forward(stream, embedding, micro, micro.of(model::input(blocks)));
  const Residual residual = model::forward(stream, config, blocks, micro, buffers, saving);
  forward_norm(stream, head, micro, residual, head_saved);
}

Model::Model(device::Stream& stream, const Config& config, Parameters& parameters, std::int64_t batch,
             std::int64_t sequence, bool training) {
  validate(config, parameters, batch, sequence, training);
  network_ = std::make_unique<Network>(stream, config, parameters, batch, sequence, training);
}

Model::~Model() = default;

void Model::pack(device::Stream& stream) {
  model::pack(stream, network_->blocks);
  model::pack(stream, network_->head.classifier);
}

LossSum Model::forward_backward(device::Stream& stream, const Batch& batch, float gradient_scale,
                                const GradientsReady& ready) {
  Network& n = *network_;
  check(n.training, "the model was made for training");
  const MicroBatch micro = n.micro_batch(batch, true);
  n.forward_network(stream, micro, true);
  const LossSum loss = forward_backward_loss(stream, n.head, micro, gradient_scale, n.buffers, n.head_saved);
  backward(stream, n.config, n.blocks, micro, n.buffers);
  backward(stream, n.embedding, micro, micro.of(n.buffers.dx));
  if (ready) ready(0, n.tensors);
  return loss;
}

LossSum Model::evaluate(device::Stream& stream, const Batch& batch) {
  Network& n = *network_;
  const MicroBatch micro = n.micro_batch(batch, true);
  n.forward_network(stream, micro, false);
  return forward_loss(stream, n.head, micro, n.head_saved);
}

void Model::logits(device::Stream& stream, const Batch& batch, std::int64_t row, MutableView out) {
  Network& n = *network_;
  const MicroBatch micro = n.micro_batch(batch, false);
  check(row >= 0 && row < micro.rows(), "the row is one of the batch");
  check(out.dtype == DType::kF32 && out.count() == n.config.vocabulary,
        "logits are fp32, one a token of the vocabulary");
  n.forward_network(stream, micro, false);
  forward_logits(stream, n.head, n.head_saved, row, out);
}

std::size_t Model::activation_bytes() const { return network_->workspace.bytes(); }

std::size_t Model::packed_bytes() const {
  return model::packed_bytes(network_->blocks) + network_->head.classifier.packed.bytes();
}

}  // namespace convoy::model
