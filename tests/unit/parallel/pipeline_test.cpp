// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/pipeline.h"

#include <gtest/gtest.h>

#include <array>

#include "libcore/comm/threads.h"
#include "libcore/ops/backend.h"

namespace convoy::parallel {
namespace {

constexpr double kWatchdogSeconds = 30.0;
constexpr int kElements = 3;
using Values = std::array<float, kElements>;

tensor::MutableView view_of(Values& values) { return {values.data(), tensor::DType::kF32, {kElements}, 0}; }

// y = w x with one weight; the loss of the last stage is the sum of its outputs.
class Multiply : public PipelineStage {
 public:
  Multiply(float weight, int stage, int stages, int sets)
      : weight_(weight), first_(stage == 0), last_(stage == stages - 1), sets_(static_cast<std::size_t>(sets)) {}

  void forward(int i) override {
    Set& set = at(i);
    if (first_) set.input = {1.0f * (i + 1), 2.0f * (i + 1), 3.0f * (i + 1)};
    for (int e = 0; e < kElements; ++e) set.output[e] = weight_ * set.input[e];
    if (last_) losses.push_back(set.output[0] + set.output[1] + set.output[2]);
  }
  void backward_input(int) override {
    if (last_) output_gradient_ = {1, 1, 1};
    for (int e = 0; e < kElements; ++e) input_gradient_[e] = weight_ * output_gradient_[e];
  }
  void backward_weight(int i) override {
    for (int e = 0; e < kElements; ++e) dweight += output_gradient_[e] * at(i).input[e];
  }
  tensor::MutableView input(int i) override { return view_of(at(i).input); }
  tensor::View output(int i) override { return view_of(at(i).output); }
  tensor::MutableView output_gradient(int) override { return view_of(output_gradient_); }
  tensor::View input_gradient(int) override { return view_of(input_gradient_); }

  std::vector<float> losses;
  float dweight = 0;

 private:
  struct Set {
    Values input{}, output{};
  };
  Set& at(int i) { return sets_[static_cast<std::size_t>(i) % sets_.size()]; }

  float weight_;
  bool first_, last_;
  std::vector<Set> sets_;
  Values output_gradient_{}, input_gradient_{};
};

// Stage s multiplies by s + 2: for three stages y = 2 * 3 * 4 x. Micro-batch i has x = (i + 1) (1, 2, 3), of sum 6 (i +
// 1); so its loss is 24 * 6 (i + 1) and the loss's derivative by a stage's weight is that over the weight.
void expect_products(ScheduleKind kind, int micro_batches) {
  comm::run_ranks(
      3,
      [&](comm::Communicator& world) {
        device::Stream stream(ops::cpu_backend(), 1);
        const std::vector<Action> actions = pipeline_schedule(kind, 3, micro_batches, world.rank());
        const float weight = static_cast<float>(world.rank() + 2);
        Multiply stage(weight, world.rank(), 3, activation_sets(actions));
        execute(stream, actions, stage, world);

        float sum_of_losses = 0;
        for (int i = 0; i < micro_batches; ++i) sum_of_losses += 144.0f * static_cast<float>(i + 1);
        EXPECT_EQ(stage.dweight, sum_of_losses / weight) << "stage " << world.rank();
        if (world.rank() != 2) return;
        ASSERT_EQ(stage.losses.size(), static_cast<std::size_t>(micro_batches));
        for (int i = 0; i < micro_batches; ++i) {
          EXPECT_EQ(stage.losses[static_cast<std::size_t>(i)], 144.0f * static_cast<float>(i + 1));
        }
      },
      kWatchdogSeconds);
}

TEST(Pipeline, OneForwardOneBackwardGivesTheGradientsOfTheProduct) {
  for (const int micro_batches : {1, 2, 3, 7}) expect_products(ScheduleKind::kOneForwardOneBackward, micro_batches);
}

TEST(Pipeline, GpipeGivesTheGradientsOfTheProduct) {
  for (const int micro_batches : {1, 2, 5}) expect_products(ScheduleKind::kGpipe, micro_batches);
}

TEST(Pipeline, ForwardAloneGivesTheLosses) {
  comm::run_ranks(
      2,
      [](comm::Communicator& world) {
        device::Stream stream(ops::cpu_backend(), 1);
        Multiply stage(5.0f, world.rank(), 2, 1);
        execute(stream, forward_schedule(2, 2, world.rank()), stage, world);
        // 5 * 5 * 6, and twice that.
        if (world.rank() == 0) return;
        EXPECT_EQ(stage.losses, (std::vector<float>{150.0f, 300.0f}));
      },
      kWatchdogSeconds);
}

}  // namespace
}  // namespace convoy::parallel
