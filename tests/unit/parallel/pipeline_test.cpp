// SPDX-License-Identifier: Apache-2.0
#include "libcore/parallel/pipeline.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "libcore/comm/threads.h"
#include "libcore/ops/backend.h"

namespace convoy::parallel {
namespace {

constexpr double kWatchdogSeconds = 30.0;
constexpr int kElements = 3;
using Values = std::array<float, kElements>;

tensor::MutableView view_of(Values& values) { return {values.data(), tensor::DType::kF32, {kElements}, 0}; }

// y = w x with one weight a chunk, number + 2; the loss of the last chunk is the sum of its outputs.
class Multiply : public PipelineStage {
 public:
  Multiply(int stage, int stages, const std::vector<int>& sets) {
    const int chunks = static_cast<int>(sets.size());
    for (int c = 0; c < chunks; ++c) {
      const int number = c * stages + stage;
      chunks_.push_back({.weight = static_cast<float>(number + 2),
                         .first = number == 0,
                         .last = number == chunks * stages - 1,
                         .sets = std::vector<Set>(static_cast<std::size_t>(sets[static_cast<std::size_t>(c)]))});
    }
  }

  void forward(int i, int c) override {
    Chunk& chunk = chunks_[static_cast<std::size_t>(c)];
    Set& set = chunk.at(i);
    const float x = static_cast<float>(i + 1);
    if (chunk.first) set.input = {x, 2.0f * x, 3.0f * x};
    for (int e = 0; e < kElements; ++e) set.output[e] = chunk.weight * set.input[e];
    if (chunk.last) losses.push_back(set.output[0] + set.output[1] + set.output[2]);
  }
  void backward_input(int, int c) override {
    Chunk& chunk = chunks_[static_cast<std::size_t>(c)];
    if (chunk.last) chunk.output_gradient = {1, 1, 1};
    for (int e = 0; e < kElements; ++e) chunk.input_gradient[e] = chunk.weight * chunk.output_gradient[e];
  }
  void backward_weight(int i, int c) override {
    Chunk& chunk = chunks_[static_cast<std::size_t>(c)];
    for (int e = 0; e < kElements; ++e) chunk.dweight += chunk.output_gradient[e] * chunk.at(i).input[e];
  }
  tensor::MutableView input(int i, int c) override { return view_of(chunks_[static_cast<std::size_t>(c)].at(i).input); }
  tensor::View output(int i, int c) override { return view_of(chunks_[static_cast<std::size_t>(c)].at(i).output); }
  tensor::MutableView output_gradient(int, int c) override {
    return view_of(chunks_[static_cast<std::size_t>(c)].output_gradient);
  }
  tensor::View input_gradient(int, int c) override {
    return view_of(chunks_[static_cast<std::size_t>(c)].input_gradient);
  }

  // Of every chunk, weight times its gradient.
  std::vector<float> products() const {
    std::vector<float> all;
    for (const Chunk& chunk : chunks_) all.push_back(chunk.weight * chunk.dweight);
    return all;
  }

  std::vector<float> losses;

 private:
  struct Set {
    Values input{}, output{};
  };
  struct Chunk {
    float weight = 0;
    bool first = false, last = false;
    std::vector<Set> sets;
    Values output_gradient{}, input_gradient{};
    float dweight = 0;
    Set& at(int i) { return sets[static_cast<std::size_t>(i) % sets.size()]; }
  };

  std::vector<Chunk> chunks_;
};

// Chunk n multiplies by n + 2: for three of them y = 2 * 3 * 4 x = 24 x, for four 120 x, for six 5040 x. Micro-batch i
// has x = (i + 1) (1, 2, 3), of sum 6 (i + 1); so its loss is 6 (i + 1) times the product, and the derivative of the
// losses by a chunk's weight is their sum over the weight.
void expect_products(ScheduleKind kind, int stages, int micro_batches, int chunks, float product) {
  comm::run_ranks(
      stages,
      [&](comm::Communicator& world) {
        device::Stream stream(ops::cpu_backend(), 1);
        const std::vector<Action> actions = pipeline_schedule(kind, stages, micro_batches, world.rank(), chunks);
        Multiply stage(world.rank(), stages, activation_sets(actions));
        execute(stream, actions, stage, world);

        std::vector<float> losses;
        float sum = 0;
        for (int i = 0; i < micro_batches; ++i) losses.push_back(6.0f * product * static_cast<float>(i + 1));
        for (const float loss : losses) sum += loss;
        EXPECT_EQ(stage.products(), std::vector<float>(static_cast<std::size_t>(chunks), sum))
            << "stage " << world.rank();
        EXPECT_EQ(stage.losses, world.rank() == stages - 1 ? losses : std::vector<float>{});
      },
      kWatchdogSeconds);
}

TEST(Pipeline, OneForwardOneBackwardGivesTheGradientsOfTheProduct) {
  for (const int micro_batches : {1, 2, 3, 7})
    expect_products(ScheduleKind::kOneForwardOneBackward, 3, micro_batches, 1, 24.0f);
}

TEST(Pipeline, GpipeGivesTheGradientsOfTheProduct) {
  for (const int micro_batches : {1, 2, 5}) expect_products(ScheduleKind::kGpipe, 3, micro_batches, 1, 24.0f);
}

// With two stages both directions share one order of messages.
TEST(Pipeline, InterleavedChunksGiveTheGradientsOfTheProduct) {
  for (const int micro_batches : {1, 2, 3, 4, 5, 7}) {
    expect_products(ScheduleKind::kInterleaved, 2, micro_batches, 2, 120.0f);
    expect_products(ScheduleKind::kInterleaved, 3, micro_batches, 2, 5040.0f);
    expect_products(ScheduleKind::kInterleaved, 2, micro_batches, 3, 5040.0f);
  }
}

TEST(Pipeline, ForwardAloneGivesTheLosses) {
  comm::run_ranks(
      2,
      [](comm::Communicator& world) {
        device::Stream stream(ops::cpu_backend(), 1);
        Multiply stage(world.rank(), 2, {1});
        execute(stream, forward_schedule(2, 2, world.rank()), stage, world);
        Multiply interleaved(world.rank(), 2, {1, 1});
        execute(stream, forward_schedule(2, 3, world.rank(), 2), interleaved, world);
        if (world.rank() == 0) return;
        EXPECT_EQ(stage.losses, (std::vector<float>{36.0f, 72.0f}));                    // 2 * 3 * 6, and twice that
        EXPECT_EQ(interleaved.losses, (std::vector<float>{720.0f, 1440.0f, 2160.0f}));  // 120 * 6 (i + 1)
      },
      kWatchdogSeconds);
}

}  // namespace
}  // namespace convoy::parallel
