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

model::Batch TrainingStage::batch(int micro_batch) const {
  const auto index = static_cast<std::size_t>(micro_batch);
  check(index < batch_.micro_batches().size(), "a schedule is of the micro-batches that the step has");
  return batch_.micro_batches()[index].batch();
}

void TrainingStage::forward(int micro_batch) {
  compute(stream_, faults_, Phase::kForward, Operation::kForward, micro_batch,
          [&] { model_.forward(stream_, batch(micro_batch), set(micro_batch)); });
}

void TrainingStage::backward_input(int micro_batch) {
  double loss = 0.0;
  compute(stream_, faults_, Phase::kBackward, Operation::kBackwardInput, micro_batch, [&] {
    loss = model_.backward_input(stream_, batch(micro_batch), set(micro_batch), settings_.gradient_scale).sum;
  });
  if (settings_.losses != nullptr) settings_.losses->push_back(loss);
  loss_sum_ += loss;
}

void TrainingStage::backward_weight(int micro_batch) {
  const bool final = micro_batch == settings_.last;
  compute(stream_, faults_, Phase::kBackward, Operation::kBackwardWeight, micro_batch, [&] {
    model_.backward_weight(stream_, batch(micro_batch), set(micro_batch),
                           final ? settings_.ready : model::GradientsReady{});
  });
}

tensor::MutableView TrainingStage::input(int micro_batch) { return model_.input(batch(micro_batch), set(micro_batch)); }
tensor::View TrainingStage::output(int micro_batch) { return model_.output(batch(micro_batch), set(micro_batch)); }
tensor::MutableView TrainingStage::output_gradient(int micro_batch) {
  return model_.output_gradient(batch(micro_batch));
}
tensor::View TrainingStage::input_gradient(int micro_batch) { return model_.input_gradient(batch(micro_batch)); }

EvaluationStage::EvaluationStage(device::Stream& stream, model::Model& model, bool last_stage, Load load)
    : stream_(stream), model_(model), last_stage_(last_stage), load_(std::move(load)) {}

const model::Batch& EvaluationStage::batch(int micro_batch) {
  if (micro_batch != loaded_) batch_ = load_(micro_batch);
  loaded_ = micro_batch;
  return batch_;
}

void EvaluationStage::forward(int micro_batch) {
  model_.forward(stream_, batch(micro_batch), kEvaluationSet);
  if (last_stage_) loss_ += model_.loss(stream_, batch(micro_batch), kEvaluationSet);
}

void EvaluationStage::backward_input(int) { refuse_backward(); }
void EvaluationStage::backward_weight(int) { refuse_backward(); }
tensor::MutableView EvaluationStage::input(int micro_batch) { return model_.input(batch(micro_batch), kEvaluationSet); }
tensor::View EvaluationStage::output(int micro_batch) { return model_.output(batch(micro_batch), kEvaluationSet); }
tensor::MutableView EvaluationStage::output_gradient(int) { refuse_backward(); }
tensor::View EvaluationStage::input_gradient(int) { refuse_backward(); }

}  // namespace convoy::train
