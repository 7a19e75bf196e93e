// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/stages.h"

#include <utility>

#include "libcore/base/error.h"

namespace convoy::train {
namespace {

// An evaluation's activations are used up when they are sent, so one set serves all.
constexpr int kEvaluationSet = 0;

using trace::Operation;
using trace::Phase;

[[noreturn]] void refuse_backward() { throw InternalError("an evaluation has no backward pass"); }

}  // namespace

int last_backward(const std::vector<parallel::Action>& actions) {
  int last = -1;
  for (const parallel::Action& action : actions) {
    if (action.kind == parallel::ActionKind::kBackwardWeight) last = action.micro_batch;
  }
  check(last >= 0, "a schedule has a backward pass");
  return last;
}

TrainingStage::TrainingStage(device::Stream& stream, model::Model& model, const GlobalBatch& batch, Settings settings,
                             const Faults& faults)
    : stream_(stream), model_(model), batch_(batch), settings_(std::move(settings)), faults_(faults) {}

model::Batch TrainingStage::batch(int micro_batch) const { return batch_.batch(micro_batch); }

void TrainingStage::forward(int i, int chunk) {
  compute(stream_, faults_, Phase::kForward, Operation::kForward, i,
          [&] { model_.forward(stream_, batch(i), set(i, chunk), chunk); });
}

model::GradientsReady TrainingStage::ready(int micro_batch) const {
  return settings_.reports_all || micro_batch == settings_.last ? settings_.ready : model::GradientsReady{};
}

void TrainingStage::backward_input(int i, int chunk) {
  double loss = 0.0;
  compute(stream_, faults_, Phase::kBackward, Operation::kBackwardInput, i, [&] {
    loss = model_.backward_input(stream_, batch(i), set(i, chunk), settings_.gradient_scale, chunk, ready(i)).sum;
  });
  if (settings_.losses != nullptr && model_.has_loss(chunk)) settings_.losses->push_back(loss);
  loss_sum_.add(loss);
}

void TrainingStage::backward_weight(int i, int chunk) {
  compute(stream_, faults_, Phase::kBackward, Operation::kBackwardWeight, i,
          [&] { model_.backward_weight(stream_, batch(i), set(i, chunk), ready(i), chunk); });
}

tensor::MutableView TrainingStage::input(int i, int chunk) { return model_.input(batch(i), set(i, chunk), chunk); }
tensor::View TrainingStage::output(int i, int chunk) { return model_.output(batch(i), set(i, chunk), chunk); }
tensor::MutableView TrainingStage::output_gradient(int i, int chunk) { return model_.output_gradient(batch(i), chunk); }
tensor::View TrainingStage::input_gradient(int i, int chunk) { return model_.input_gradient(batch(i), chunk); }

EvaluationStage::EvaluationStage(device::Stream& stream, model::Model& model, Load load)
    : stream_(stream), model_(model), load_(std::move(load)) {}

const model::Batch& EvaluationStage::batch(int micro_batch) {
  if (micro_batch != loaded_) batch_ = load_(micro_batch);
  loaded_ = micro_batch;
  return batch_;
}

void EvaluationStage::forward(int i, int chunk) {
  model_.forward(stream_, batch(i), kEvaluationSet, chunk);
  if (model_.has_loss(chunk)) loss_.add(model_.loss(stream_, batch(i), kEvaluationSet, chunk));
}

void EvaluationStage::backward_input(int, int) { refuse_backward(); }
void EvaluationStage::backward_weight(int, int) { refuse_backward(); }
tensor::MutableView EvaluationStage::input(int i, int chunk) { return model_.input(batch(i), kEvaluationSet, chunk); }
tensor::View EvaluationStage::output(int i, int chunk) { return model_.output(batch(i), kEvaluationSet, chunk); }
tensor::MutableView EvaluationStage::output_gradient(int, int) { refuse_backward(); }
tensor::View EvaluationStage::input_gradient(int, int) { refuse_backward(); }

}  // namespace convoy::train
