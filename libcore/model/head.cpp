// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/head.h"

#include <algorithm>
#include <cmath>

#include "libcore/model/sequence_parallel.h"
#include "libcore/ops/classifier.h"

namespace convoy::model {
namespace {

using tensor::DType;
using tensor::MutableView;
using tensor::View;

// Rows of a block: enough for the products to be efficient, few enough for the logits to stay small beside the
// activations.
constexpr std::int64_t kMaxBlockRows = 512;
constexpr std::int64_t kMaxBlockLogits = std::int64_t{1} << 25;

std::int64_t block_rows(std::int64_t rows, std::int64_t vocabulary) {
  return std::min({rows, kMaxBlockRows, std::max<std::int64_t>(16, kMaxBlockLogits / vocabulary)});
}

// The buffers of a block, cut to its rows.
struct LossBlock {
  std::int64_t begin = 0, end = 0;  // rows of the micro-batch
  View targets;                     // [end - begin] i32
  MutableView logits, dlogits, maximum, sum, target_logit;
  MutableView sums;  // sum and target_logit side by side
};

LossBlock block_at(const MicroBatch& micro, const HeadActivations& saved, std::int64_t begin) {
  const std::int64_t end = std::min(begin + saved.logits.rows(), micro.rows()), count = end - begin;
  const auto* targets = micro.targets.as<std::int32_t>() + begin;
  return {.begin = begin,
          .end = end,
          .targets = {targets, DType::kI32, {count}},
          .logits = tensor::rows_of(saved.logits, 0, count),
          .dlogits = saved.dlogits.present() ? tensor::rows_of(saved.dlogits, 0, count) : MutableView{},
          .maximum = tensor::flat_part(saved.maximum, 0, count),
          .sum = tensor::flat_part(saved.sums, 0, count),
          .target_logit = tensor::flat_part(saved.sums, count, 2 * count),
          .sums = tensor::flat_part(saved.sums, 0, 2 * count)};
}

LossSum loss_of(const LossBlock& block) {
  LossSum loss;
  const auto* targets = block.targets.as<std::int32_t>();
  for (std::int64_t row = 0; row < block.end - block.begin; ++row) {
    if (targets[row] == ops::kIgnoredTarget) continue;
    loss.sum += static_cast<double>(block.maximum.as<float>()[row]) +
                std::log(static_cast<double>(block.sum.as<float>()[row])) -
                static_cast<double>(block.target_logit.as<float>()[row]);
    ++loss.targets;
  }
  return loss;
}

void reduce(device::Stream& stream, const Head& head, const MutableView& values, comm::Reduction reduction) {
  if (head.peers != nullptr) head.peers->all_reduce(stream, values, reduction);
}

// Logits, and the loss of the block's rows.
LossSum forward_block(device::Stream& stream, const Head& head, const LossBlock& block, const View& y) {
  forward(stream, head.classifier, tensor::rows_of(y, block.begin, block.end), block.logits);
  ops::classifier_maximum(stream, {.logits = block.logits, .maximum = block.maximum});
  reduce(stream, head, block.maximum, comm::Reduction::kMax);
  ops::classifier_sum(stream, {.logits = block.logits,
                               .maximum = block.maximum,
                               .targets = block.targets,
                               .first = head.first,
                               .sum = block.sum,
                               .target_logit = block.target_logit});
  reduce(stream, head, block.sums, comm::Reduction::kSum);
  return loss_of(block);
}

// dy [rows of the block, C], of this rank's part of the vocabulary
void backward_block(device::Stream& stream, const Head& head, const LossBlock& block, const View& y,
                    float gradient_scale, MutableView dy) {
  ops::classifier_backward(stream, {.logits = block.logits,
                                    .maximum = block.maximum,
                                    .sum = block.sum,
                                    .targets = block.targets,
                                    .first = head.first,
                                    .scale = gradient_scale,
                                    .dlogits = block.dlogits});
  backward_weight(stream, head.classifier, block.dlogits, tensor::rows_of(y, block.begin, block.end));
  backward_input_part(stream, head.classifier, block.dlogits, dy);
}

}  // namespace

Head make_head(device::Stream& stream, const Config& config, Parameters& parameters, const Shard& shard) {
  const bool gpt2 = config.architecture == Architecture::kGpt2;
  const std::string embedding = gpt2 ? "transformer.wte" : "model.embed_tokens";
  Head head;
  head.norm = make_norm(parameters, config, gpt2 ? "transformer.ln_f" : "model.norm");
  head.classifier = make_linear(stream, parameters, ops::WeightLayout::kOutIn, "",
                                {config.tied_embeddings ? embedding : "lm_head"}, false, shard);
  head.first = vocabulary_of(config, shard).begin;
  head.peers = shard.peers();
  return head;
}

void plan(Workspace& workspace, HeadActivations& activations, const Config& config, std::int64_t rows, DType dtype,
          const ModelSize& size, const Shard& shard) {
  // Every rank takes the blocks of the widest part, because they exchange values block by block.
  const std::int64_t block = block_rows(rows, parallel::partition(config.vocabulary, shard.tensor_size, 0).size());
  const tensor::Shape logits{block, vocabulary_of(config, shard).size()};
  activations.remake = activations.norms.size() > 1 && size.recompute != Recompute::kNone;
  ActivationPlan sets(workspace, size.recompute);
  for (NormActivations& norm : activations.norms) {
    plan(sets, norm, config, shard.most_own_rows(rows), dtype);
    sets.next_set();
  }
  if (size.training && dtype == DType::kF32) {
    workspace.plan_overlapping(activations.logits, logits, activations.dlogits, logits, dtype);
  } else {
    workspace.plan(activations.logits, logits, DType::kF32);
    if (size.training) workspace.plan(activations.dlogits, logits, dtype);
  }
  workspace.plan(activations.maximum, {block}, DType::kF32);
  workspace.plan(activations.sums, {2 * block}, DType::kF32);
}

void forward_norm(device::Stream& stream, const Head& head, const MicroBatch& micro, const Residual& before,
                  HeadActivations& saved) {
  forward(stream, head.norm, micro, before.sum, before.branch, saved.norms[micro.set]);
}

LossSum forward_loss(device::Stream& stream, const Head& head, const MicroBatch& micro, Buffers& buffers,
                     HeadActivations& saved) {
  const View y = all_rows(stream, micro, saved.norms[micro.set].y, buffers.whole);
  LossSum loss;
  for (std::int64_t begin = 0; begin < micro.rows(); begin += saved.logits.rows()) {
    loss += forward_block(stream, head, block_at(micro, saved, begin), y);
  }
  return loss;
}

LossSum forward_backward_loss(device::Stream& stream, const Head& head, const MicroBatch& micro, float gradient_scale,
                              Buffers& buffers, HeadActivations& saved, MutableView dx) {
  NormActivations& norm = saved.norms[micro.set];
  if (saved.remake) forward(stream, head.norm, micro, {}, {}, norm);
  const View y = all_rows(stream, micro, norm.y, buffers.whole);
  MutableView dy = micro.of(buffers.dy);  // [B T, C]
  LossSum loss;
  for (std::int64_t begin = 0; begin < micro.rows(); begin += saved.logits.rows()) {
    const LossBlock block = block_at(micro, saved, begin);
    loss += forward_block(stream, head, block, y);
    backward_block(stream, head, block, y, gradient_scale, tensor::rows_of(dy, block.begin, block.end));
  }
  if (micro.row_peers == nullptr) {
    sum_dx(stream, head.classifier, dy);
  } else {
    const MutableView own = tensor::rows_of(dy, micro.own.begin, micro.own.end);
    sum_to_own_rows(stream, micro, dy, own);
    dy = own;
  }
  backward(stream, head.norm, micro, norm, dy, {}, dx);
  return loss;
}

void forward_logits(device::Stream& stream, const Head& head, const HeadActivations& saved, std::int64_t row,
                    MutableView logits) {
  const MutableView y{logits.data, logits.dtype, {1, logits.count()}, 0};
  forward(stream, head.classifier, tensor::rows_of(saved.norms.front().y, row, row + 1), y);
}

}  // namespace convoy::model
