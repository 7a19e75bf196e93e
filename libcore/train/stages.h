// SPDX-License-Identifier: Apache-2.0
// One rank's stage of the pipeline, as the executor drives its chunks: for training, and for evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "libcore/base/exact_sum.h"
#include "libcore/model/model.h"
#include "libcore/parallel/pipeline.h"
#include "libcore/train/faults.h"
#include "libcore/train/loader.h"

namespace convoy::train {

// Computes something of one micro-batch: recorded as the stream says, and as slow as the faults want it.
template <class Work>
void compute(const device::Stream& stream, const Faults& faults, trace::Phase phase, trace::Operation operation,
             int micro_batch, Work&& work) {
  trace::Recorder* recorder = stream.lane().recorder;
  const trace::ComputeScope scope(recorder, phase, operation, micro_batch);
  faults.run(recorder, phase, std::forward<Work>(work));
}

// The last micro-batch whose weight gradients a list of actions computes: after it a chunk's are final.
int last_backward(const std::vector<parallel::Action>& actions);

class TrainingStage final : public parallel::PipelineStage {
 public:
  struct Settings {
    float gradient_scale = 1.0f;
    std::vector<int> sets = {1};            // of activations, a chunk
    int last = 0;                           // last_backward()
    bool reports_all = false;               // or every micro-batch's are by themselves
    model::GradientsReady ready;            // called while that one runs, or every one
    std::vector<double>* losses = nullptr;  // of the last chunk: where each micro-batch's sum of losses goes
  };
  TrainingStage(device::Stream& stream, model::Model& model, const GlobalBatch& batch, Settings settings,
                const Faults& faults);

  const ExactSum& loss_sum() const { return loss_sum_; }  // of the last stage; 0 in others

  void forward(int micro_batch, int chunk) override;
  void backward_input(int micro_batch, int chunk) override;
  void backward_weight(int micro_batch, int chunk) override;
  tensor::MutableView input(int micro_batch, int chunk) override;
  tensor::View output(int micro_batch, int chunk) override;
  tensor::MutableView output_gradient(int micro_batch, int chunk) override;
  tensor::View input_gradient(int micro_batch, int chunk) override;

 private:
  model::Batch batch(int micro_batch) const;
  model::GradientsReady ready(int micro_batch) const;  // empty unless its gradients are reported
  int set(int micro_batch, int chunk) const { return micro_batch % settings_.sets[static_cast<std::size_t>(chunk)]; }

  device::Stream& stream_;
  model::Model& model_;
  const GlobalBatch& batch_;
  Settings settings_;
  const Faults& faults_;
  ExactSum loss_sum_;
};

// Of the micro-batches of an evaluation: the same bits in any order.
struct EvaluationLoss {
  ExactSum sum;
  std::int64_t targets = 0;
  void add(const model::LossSum& loss) {
    sum.add(loss.sum);
    targets += loss.targets;
  }
};

// Forward alone, over micro-batches that are loaded one at a time.
class EvaluationStage final : public parallel::PipelineStage {
 public:
  // `load` fills the scratch with micro-batch i, whose batch it returns.
  using Load = std::function<model::Batch(int micro_batch)>;
  EvaluationStage(device::Stream& stream, model::Model& model, Load load);

  const EvaluationLoss& loss() const { return loss_; }

  void forward(int micro_batch, int chunk) override;
  void backward_input(int micro_batch, int chunk) override;
  void backward_weight(int micro_batch, int chunk) override;
  tensor::MutableView input(int micro_batch, int chunk) override;
  tensor::View output(int micro_batch, int chunk) override;
  tensor::MutableView output_gradient(int micro_batch, int chunk) override;
  tensor::View input_gradient(int micro_batch, int chunk) override;

 private:
  const model::Batch& batch(int micro_batch);

  device::Stream& stream_;
  model::Model& model_;
  Load load_;
  int loaded_ = -1;
  model::Batch batch_;
  EvaluationLoss loss_;
};

}  // namespace convoy::train
