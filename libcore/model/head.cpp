// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/head.h"

#include <algorithm>
#include <cmath>

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
};

MutableView first(const MutableView& vector, std::int64_t count) { return {vector.data, vector.dtype, {count}, 0}; }

LossBlock block_at(const MicroBatch& micro, const HeadActivations& saved, std::int64_t begin) {
  const std::int64_t end = std::min(begin + saved.logits.rows(), micro.rows()), count = end - begin;
  const auto* targets = micro.targets.as<std::int32_t>() + begin;
  return {.begin = begin,
          .end = end,
          .targets = {targets, DType::kI32, {count}},
          .logits = tensor::rows_of(saved.logits, 0, count),
          .dlogits = saved.dlogits.present() ? tensor::rows_of(saved.dlogits, 0, count) : MutableView{},
          .maximum = first(saved.maximum, count),
          .sum = first(saved.sum, count),
          .target_logit = first(saved.target_logit, count)};
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

// Logits, and the loss of the block's rows.
LossSum forward_block(device::Stream& stream, const Head& head, const LossBlock& block, const HeadActivations& saved) {
  forward(stream, head.classifier, tensor::rows_of(saved.norm.y, block.begin, block.end), block.logits);
  ops::classifier_maximum(stream, {.logits = block.logits, .maximum = block.maximum});
  ops::classifier_sum(stream, {.logits = block.logits,
                               .maximum = block.maximum,
                               .targets = block.targets,
                               .sum = block.sum,
                               .target_logit = block.target_logit});
  return loss_of(block);
}

// dy [rows of the block, C]
void backward_block(device::Stream& stream, const Head& head, const LossBlock& block, const HeadActivations& saved,
                    float gradient_scale, MutableView dy) {
  ops::classifier_backward(stream, {.logits = block.logits,
                                    .maximum = block.maximum,
                                    .sum = block.sum,
                                    .targets = block.targets,
                                    .scale = gradient_scale,
                                    .dlogits = block.dlogits});
  backward_weight(stream, head.classifier, block.dlogits, tensor::rows_of(saved.norm.y, block.begin, block.end));
  backward_input(stream, head.classifier, block.dlogits, dy);
}

}  // namespace

Head make_head(device::Stream& stream, const Config& config, Parameters& parameters) {
  const bool gpt2 = config.architecture == Architecture::kGpt2;
  const std::string embedding = gpt2 ? "transformer.wte" : "model.embed_tokens";
  Head head;
  head.norm = make_norm(parameters, config, gpt2 ? "transformer.ln_f" : "model.norm");
  head.classifier = make_linear(stream, parameters, ops::WeightLayout::kOutIn, "",
                                {config.tied_embeddings ? embedding : "lm_head"}, false);
  return head;
}

void plan(Workspace& workspace, HeadActivations& activations, const Config& config, std::int64_t rows, DType dtype,
          bool training) {
  const std::int64_t block = block_rows(rows, config.vocabulary);
  const tensor::Shape logits{block, config.vocabulary};
  plan(workspace, activations.norm, config, rows, dtype);
  if (training && dtype == DType::kF32) {
    workspace.plan_overlapping(activations.logits, logits, activations.dlogits, logits, dtype);
  } else {
    workspace.plan(activations.logits, logits, DType::kF32);
    if (training) workspace.plan(activations.dlogits, logits, dtype);
  }
  for (MutableView* vector : {&activations.maximum, &activations.sum, &activations.target_logit}) {
    workspace.plan(*vector, {block}, DType::kF32);
  }
}

void forward_norm(device::Stream& stream, const Head& head, const MicroBatch& micro, const Residual& before,
                  HeadActivations& saved) {
  forward(stream, head.norm, micro, before.sum, before.branch, saved.norm);
}

LossSum forward_loss(device::Stream& stream, const Head& head, const MicroBatch& micro, HeadActivations& saved) {
  LossSum loss;
  for (std::int64_t begin = 0; begin < micro.rows(); begin += saved.logits.rows()) {
    loss += forward_block(stream, head, block_at(micro, saved, begin), saved);
  }
  return loss;
}

LossSum forward_backward_loss(device::Stream& stream, const Head& head, const MicroBatch& micro, float gradient_scale,
                              Buffers& buffers, HeadActivations& saved) {
  const MutableView dx = micro.of(buffers.dx), dy = micro.of(buffers.dy);  // [B T, C]
  LossSum loss;
  for (std::int64_t begin = 0; begin < micro.rows(); begin += saved.logits.rows()) {
    const LossBlock block = block_at(micro, saved, begin);
    loss += forward_block(stream, head, block, saved);
    backward_block(stream, head, block, saved, gradient_scale, tensor::rows_of(dy, block.begin, block.end));
  }
  backward(stream, head.norm, micro, saved.norm, dy, {}, dx);
  return loss;
}

void forward_logits(device::Stream& stream, const Head& head, const HeadActivations& saved, std::int64_t row,
                    MutableView logits) {
  const MutableView y{logits.data, logits.dtype, {1, logits.count()}, 0};
  forward(stream, head.classifier, tensor::rows_of(saved.norm.y, row, row + 1), y);
}

}  // namespace convoy::model
