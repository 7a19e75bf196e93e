// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/step.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "libcore/parallel/pipeline.h"
#include "libcore/train/gradient_sums.h"
#include "libcore/train/stages.h"

namespace convoy::train {
namespace {

using tensor::DType;
using tensor::MutableView;
using trace::Operation;
using trace::Phase;

std::int64_t sum_over(comm::Communicator& group, device::Stream& stream, std::int64_t value) {
  group.all_reduce(stream, {&value, DType::kI64, {1}, 0}, comm::Reduction::kSum);
  return value;
}

ExactSum run_whole(const StepContext& context, const GlobalBatch& batch, float scale,
                   const model::GradientsReady& ready) {
  ExactSum sum;
  const int count = static_cast<int>(batch.micro_batches().size());
  for (int i = 0; i < count; ++i) {
    const model::Batch micro_batch = batch.batch(i);
    compute(context.stream, context.faults, Phase::kForward, Operation::kForward, i,
            [&] { context.model.forward(context.stream, micro_batch, 0); });
    double loss = 0.0;
    compute(context.stream, context.faults, Phase::kBackward, Operation::kBackward, i, [&] {
      const bool reports = i + 1 == count || context.reduces_each();
      const model::GradientsReady& then = reports ? ready : model::GradientsReady{};
      loss = context.model.backward(context.stream, micro_batch, scale, then).sum;
    });
    if (context.losses != nullptr) context.losses->push_back(loss);
    sum.add(loss);
  }
  return sum;
}

ExactSum run_stages(const StepContext& context, const GlobalBatch& batch, float scale,
                    const model::GradientsReady& ready) {
  TrainingStage stage(context.stream, context.model, batch,
                      {.gradient_scale = scale,
                       .sets = parallel::activation_sets(context.actions),
                       .last = last_backward(context.actions),
                       .reports_all = context.reduces_each(),
                       .ready = ready,
                       .losses = context.groups.last_stage() ? context.losses : nullptr},
                      context.faults);
  parallel::execute(context.stream, context.actions, stage, *context.groups.pipeline);
  return stage.loss_sum();
}

}  // namespace

std::int64_t accumulate(const StepContext& context, const GlobalBatch& batch, ExactSum& loss_sum) {
  const parallel::Groups& groups = context.groups;
  {
    const trace::PhaseScope phase(context.recorder(), Phase::kOptimizer);
    context.parameters.zero_gradients(context.stream);
  }
  context.faults.spoil(context.parameters);
  const std::int64_t targets = sum_over(*groups.data, context.stream, batch.targets());
  // Without a counted target the loss is 0 / 0: not finite, and the step is skipped like any other of that kind.
  const float scale = targets > 0 ? static_cast<float>(context.loss_scale / static_cast<double>(targets)) : 0.0f;
  const std::vector<std::size_t> tied = tied_ends(context.parameters);
  const auto ready = [&](std::size_t begin, std::size_t end) { take_gradients(context, tied, begin, end); };
  loss_sum =
      groups.layout.pipeline == 1 ? run_whole(context, batch, scale, ready) : run_stages(context, batch, scale, ready);
  context.faults.interrupt();
  finish_sums(context, tied);
  if (context.loss_scale != 1.0) {
    const trace::PhaseScope phase(context.recorder(), Phase::kOptimizer);
    context.optimizer.scale_gradients(context.stream, static_cast<float>(1.0 / context.loss_scale));
  }
  return targets;
}

StepResult judge(const StepContext& context, std::int64_t targets, ExactSum loss_sum, std::span<std::int64_t> votes) {
  // The norm is of no phase: one replica computes it for all, which must not look like a slow rank.
  const parallel::Groups& groups = context.groups;
  const bool has_loss = groups.last_stage() && groups.at.tensor == 0;
  const bool has_squares = groups.layout.zero > 0 || groups.at.data == 0;
  if (!has_loss) loss_sum = {};
  ExactSum squares = has_squares ? context.optimizer.gradient_squares(context.stream) : ExactSum{};
  const std::array<std::span<std::int64_t>, 3> parts = {loss_sum.words(), squares.words(), votes};
  std::vector<std::int64_t> all;
  for (const std::span<std::int64_t> part : parts) all.insert(all.end(), part.begin(), part.end());
  groups.world->all_reduce(context.stream, {all.data(), DType::kI64, {static_cast<std::int64_t>(all.size())}, 0},
                           comm::Reduction::kSum);
  auto sum = all.begin();
  for (const std::span<std::int64_t> part : parts) {
    std::copy_n(sum, part.size(), part.begin());
    sum += static_cast<std::ptrdiff_t>(part.size());
  }
  StepResult result;
  result.targets = targets;
  result.loss = loss_sum.value() / static_cast<double>(targets);
  result.grad_norm = std::sqrt(squares.value());
  result.finite = std::isfinite(result.loss) && std::isfinite(result.grad_norm);
  return result;
}

void apply(const StepContext& context, double rate, std::int64_t update, double grad_norm) {
  const trace::PhaseScope phase(context.recorder(), Phase::kOptimizer);
  context.optimizer.step(context.stream, rate, update, grad_norm);
  share_weights(context);
  context.faults.sleep_after(context.recorder(), Phase::kOptimizer);
}

void share_weights(const StepContext& context) {
  if (context.shards != nullptr) {
    context.shards->weights_changed(context.stream);
  } else if (context.groups.layout.zero > 0) {
    std::vector<MutableView> weights;
    for (std::size_t i = 0; i < context.parameters.size(); ++i) weights.push_back(context.parameters.weight(i));
    context.data_parallel.gather(context.stream, weights);
  }
  context.model.pack(context.stream);
}

}  // namespace convoy::train
