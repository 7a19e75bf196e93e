// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/model.h"

#include <fmt/format.h>

#include <utility>

#include "libcore/base/error.h"
#include "libcore/model/network.h"

namespace convoy::model {
namespace {

using tensor::DType;
using tensor::MutableView;
using tensor::View;

void validate_shard(const Config& config, const Shard& shard) {
  check(shard.layers.size() > 0, "a chunk has at least one layer");
  check(shard.tensor_size == 1 || shard.tensor_group != nullptr, "a share of a matrix belongs to a group");
  check(config.heads % shard.tensor_size == 0, "heads divide by the tensor-parallel ranks");
  check(config.key_value_heads % shard.tensor_size == 0 || shard.tensor_size % config.key_value_heads == 0,
        "key/value heads divide by the tensor-parallel ranks, or these by them");
  check(config.vocabulary >= shard.tensor_size && config.ffn_width >= shard.tensor_size,
        "every tensor-parallel rank has a share of vocabulary and ffn width");
}

void validate_chunks(const Config& config, const Parameters& parameters, const std::vector<Shard>& chunks,
                     const ModelSize& size) {
  for (const Shard& chunk : chunks) validate_shard(config, chunk);
  check(size.sets.size() == chunks.size(), "each chunk has its sets of activations");
  const std::vector<LocalParameter> expected = local_parameters(config, chunks);
  check(parameters.size() == expected.size(), "the parameters are those of the shard");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const LocalParameter& found = parameters.table()[i];
    check(found.name == expected[i].name && found.box == expected[i].box, "the parameters are those of the shard");
  }
}

void validate(const Config& config, const Parameters& parameters, const ModelSize& size) {
  check(size.batch > 0 && size.sequence > 0, "a micro-batch has at least one token");
  for (const int sets : size.sets) check(sets > 0, "a chunk keeps at least one set of activations");
  check(!size.training || parameters.size() == 0 || parameters.gradient(0).present(), "training needs gradients");
  if (size.sequence > config.positions) {
    throw ConfigError(fmt::format("sequence length {} exceeds the model's {} positions; choose at most {}",
                                  size.sequence, config.positions, config.positions));
  }
  check(!size.training || config.dropout.largest() < 1.0, "a model that is trained does not drop everything");
}

// Training without the masks that its rates ask for would be another training.
void check_draw(const Config& config, const Batch& batch) {
  check(config.dropout.largest() == 0.0 || batch.dropout,
        "a batch of a model with dropout says what masks are drawn from");
}

}  // namespace

Model::Model(device::Stream& stream, const Config& config, Parameters& parameters, const std::vector<Shard>& chunks,
             const ModelSize& size) {
  validate(config, parameters, size);
  validate_chunks(config, parameters, chunks, size);
  for (std::size_t i = 0; i < chunks.size(); ++i)
    networks_.push_back(std::make_unique<Network>(stream, config, parameters, chunks[i], size, size.sets[i], hooks_));
}

Model::Model(device::Stream& stream, const Config& config, Parameters& parameters, const Shard& shard,
             const ModelSize& size)
    : Model(stream, config, parameters, std::vector<Shard>{shard}, size) {}

Model::Model(device::Stream& stream, const Config& config, Parameters& parameters, std::int64_t batch,
             std::int64_t sequence, bool training)
    : Model(stream, config, parameters, whole_model(config),
            {.batch = batch, .sequence = sequence, .training = training}) {}

Model::~Model() = default;

void Model::set_hooks(ParameterHooks hooks) { hooks_ = std::move(hooks); }

void Model::pack(device::Stream& stream) {
  for (const auto& network : networks_) network->pack(stream);
}

Model::Network& Model::whole() {
  check(networks_.front()->one_stage(), "a pass in one call is that of a model of one stage");
  return *networks_.front();
}

bool Model::has_loss(int chunk) const { return networks_[static_cast<std::size_t>(chunk)]->head.has_value(); }

LossSum Model::backward(device::Stream& stream, const Batch& batch, float gradient_scale, const GradientsReady& ready) {
  Network& n = whole();
  check(n.size.training, "backward is a part of training");
  check_draw(n.config, batch);
  const MicroBatch micro = n.micro_batch(batch, true);
  const MutableView dx = micro.own_of(n.buffers.dx);
  n.need_head(stream, Pass::kBackward);
  const LossSum loss = forward_backward_loss(stream, *n.head, micro, gradient_scale, n.buffers, n.head_saved, dx);
  report_head(n.parts, n.shard, ready);
  model::backward(stream, n.local, n.blocks, micro, n.buffers, n.gradients,
                  [&](std::size_t block) { report_block(n.parts, block, ready); });
  n.need_embedding_gradients();
  model::backward(stream, *n.embedding, micro, n.buffers.whole, dx);
  report_embeddings(n.parts, ready);
  return loss;
}

LossSum Model::evaluate(device::Stream& stream, const Batch& batch) {
  Network& n = whole();
  const MicroBatch micro = n.micro_batch(batch, true);
  n.forward(stream, micro, false);
  n.need_head(stream, Pass::kForward);
  return forward_loss(stream, *n.head, micro, n.buffers, n.head_saved);
}

void Model::logits(device::Stream& stream, const Batch& batch, std::int64_t row, MutableView out) {
  Network& n = whole();
  check(n.shard.peers() == nullptr, "logits are those of a model on one rank");
  const MicroBatch micro = n.micro_batch(batch, false);
  check(row >= 0 && row < micro.rows(), "the row is one of the batch");
  check(out.dtype == DType::kF32 && out.count() == n.config.vocabulary,
        "logits are fp32, one a token of the vocabulary");
  n.forward(stream, micro, false);
  n.need_head(stream, Pass::kForward);
  forward_logits(stream, *n.head, n.head_saved, row, out);
}

void Model::forward(device::Stream& stream, const Batch& batch, int set, int chunk) {
  Network& n = *networks_[static_cast<std::size_t>(chunk)];
  n.forward(stream, n.micro_batch(batch, false, set), n.size.training);
}

LossSum Model::loss(device::Stream& stream, const Batch& batch, int set, int chunk) {
  Network& n = *networks_[static_cast<std::size_t>(chunk)];
  check(n.head.has_value(), "the last chunk has the loss");
  n.need_head(stream, Pass::kForward);
  return forward_loss(stream, *n.head, n.micro_batch(batch, true, set), n.buffers, n.head_saved);
}

LossSum Model::backward_input(device::Stream& stream, const Batch& batch, int set, float gradient_scale, int chunk,
                              const GradientsReady& ready) {
  Network& n = *networks_[static_cast<std::size_t>(chunk)];
  check(n.size.training && !n.one_stage(), "the parts of backward are those of one of several stages, in training");
  check_draw(n.config, batch);
  const MicroBatch micro = n.micro_batch(batch, n.shard.last, set);
  LossSum loss;
  MutableView& behind = n.gradients.back().behind;
  if (n.head) {
    n.need_head(stream, Pass::kBackward);
    loss = forward_backward_loss(stream, *n.head, micro, gradient_scale, n.buffers, n.head_saved, micro.own_of(behind));
  } else if (n.parts_apart()) {
    // The weights' gradients still need this one when the next may arrive already.
    std::swap(behind, n.incoming);
  }
  if (n.parts_apart()) {
    model::backward_input(stream, n.local, n.blocks, micro, n.buffers, n.gradients);
  } else {
    model::backward(stream, n.local, n.blocks, micro, n.buffers, n.gradients,
                    [&](std::size_t block) { report_block(n.parts, block, ready); });
  }
  return loss;
}

void Model::backward_weight(device::Stream& stream, const Batch& batch, int set, const GradientsReady& ready,
                            int chunk) {
  Network& n = *networks_[static_cast<std::size_t>(chunk)];
  check(n.size.training && !n.one_stage(), "the parts of backward are those of one of several stages, in training");
  const MicroBatch micro = n.micro_batch(batch, false, set);
  if (n.head) report_head(n.parts, n.shard, ready);
  if (n.parts_apart())
    model::backward_weight(stream, n.blocks, micro, n.buffers, n.gradients,
                           [&](std::size_t block) { report_block(n.parts, block, ready); });
  if (!n.embedding) return;
  n.need_embedding_gradients();
  model::backward(stream, *n.embedding, micro, n.buffers.whole, micro.own_of(n.gradients.front().before));
  report_embeddings(n.parts, ready);
}

MutableView Model::input(const Batch& batch, int set, int chunk) {
  Network& n = *networks_[static_cast<std::size_t>(chunk)];
  check(!n.shard.first, "a chunk behind another has an input");
  return model::input(n.blocks, n.micro_batch(batch, false, set), n.size.training);
}

View Model::output(const Batch& batch, int set, int chunk) {
  Network& n = *networks_[static_cast<std::size_t>(chunk)];
  check(!n.shard.last, "a chunk before another has an output");
  return n.micro_batch(batch, false, set).own_of(n.buffers.branch);
}

MutableView Model::output_gradient(const Batch& batch, int chunk) {
  Network& n = *networks_[static_cast<std::size_t>(chunk)];
  check(n.size.training && !n.shard.last, "a chunk before another has a gradient of its output");
  return n.micro_batch(batch, false).own_of(n.incoming);
}

View Model::input_gradient(const Batch& batch, int chunk) {
  Network& n = *networks_[static_cast<std::size_t>(chunk)];
  check(n.size.training && !n.shard.first, "a chunk behind another has a gradient of its input");
  return n.micro_batch(batch, false).own_of(n.gradients.front().before);
}

std::size_t Model::activation_bytes() const {
  std::size_t bytes = 0;
  for (const auto& network : networks_) bytes += network->workspace.bytes();
  return bytes;
}

std::size_t Model::packed_bytes() const {
  std::size_t bytes = 0;
  for (const auto& network : networks_) bytes += network->packed_bytes();
  return bytes;
}

}  // namespace convoy::model
