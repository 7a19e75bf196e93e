// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/step.h"

#include <cmath>
#include <limits>

#include "libcore/ops/backend.h"
#include "libcore/train/weights.h"
#include "tests/support/tensors.h"
#include "tests/unit/train/tiny_run.h"

namespace convoy::train {
namespace {

// fp32 sums of 8 x 8 token gradients in another order: a few units in the last place of the largest.
constexpr support::Tolerance kSummationOrder{.absolute = 1e-7, .relative = 1e-5};

struct TinyModel {
  explicit TinyModel(std::int64_t batch, tensor::DType dtype = tensor::DType::kF32)
      : stream(ops::cpu_backend(), 1),
        config(model::parse_config(tiny_llama(), "tiny")),
        parameters(model::parameter_table(config), dtype, true),
        partial_sums(*groups.tensor, {}),
        data_parallel(*groups.data, views(), {}, {}),
        optimizer(parameters, {}),
        model(stream, config, parameters, batch, 8, true) {
    initialise(stream, parameters, 1, optimizer);
    model.pack(stream);
  }
  StepContext context() {
    return {stream, groups, actions, parameters, model, partial_sums, data_parallel, optimizer, faults};
  }
  StepResult run(const GlobalBatch& batch) {
    ExactSum loss_sum;
    const std::int64_t targets = accumulate(context(), batch, loss_sum);
    return judge(context(), targets, loss_sum, {});
  }
  std::vector<tensor::MutableView> views() const {
    std::vector<tensor::MutableView> all;
    for (std::size_t i = 0; i < parameters.size(); ++i) all.push_back(parameters.gradient(i));
    return all;
  }

  std::vector<float> gradients() const {
    std::vector<float> all;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const tensor::MutableView gradient = parameters.gradient(i);
      all.insert(all.end(), gradient.as<float>(), gradient.as<float>() + gradient.count());
    }
    return all;
  }

  std::unique_ptr<comm::Communicator> world = comm::make_self();
  parallel::Groups groups = parallel::make_groups(*world, {});
  std::vector<parallel::Action> actions;  // of no pipeline
  Faults faults;
  device::Stream stream;
  model::Config config;
  model::Parameters parameters;
  parallel::PartialSums partial_sums;
  parallel::DataParallel data_parallel;
  optim::AdamW optimizer;
  model::Model model;
};

class Accumulation : public testing::Test {
 protected:
  Accumulation() {
    write_pair(folder_ / "pair", random_tokens(1001), {1001});
    dataset_.emplace(folder_ / "pair", true);
  }

  StepResult run(std::int64_t micro_batches, std::int64_t batch, std::optional<std::int32_t> ignore_after,
                 std::vector<float>& gradients) {
    TinyModel tiny(batch);
    const data::BlendedSampler sampler({{dataset_->tokens(), 8, data::DataOrder::kSequential, 0}}, {});
    GlobalBatch global(micro_batches, batch, 8,
                       {.vocabulary = kTinyVocabulary, .document_positions = false, .ignore_after = ignore_after});
    global.load({&*dataset_, 1}, sampler, 0);
    const StepResult result = tiny.run(global);
    gradients = tiny.gradients();
    return result;
  }

  TmpDir folder_;
  std::optional<data::IndexedDataset> dataset_;
};

TEST_F(Accumulation, OneBatchOfEightEqualsEightOfOne) {
  std::vector<float> whole, parts;
  const StepResult a = run(1, 8, std::nullopt, whole);
  const StepResult b = run(8, 1, std::nullopt, parts);
  EXPECT_EQ(a.targets, 64);
  EXPECT_NEAR(a.loss, b.loss, 1e-5 * a.loss);
  EXPECT_NEAR(a.grad_norm, b.grad_norm, 1e-5 * a.grad_norm);
  EXPECT_TRUE(support::near(parts, whole, kSummationOrder));
}

// Micro-batches with different numbers of counted targets: a mean of means would differ in the second digit.
TEST_F(Accumulation, DividesByTheTargetsOfTheWholeBatch) {
  std::vector<float> whole, parts;
  const StepResult a = run(1, 8, 3, whole);
  const StepResult b = run(8, 1, 3, parts);
  EXPECT_LT(a.targets, 64);
  EXPECT_EQ(a.targets, b.targets);
  EXPECT_NEAR(a.loss, b.loss, 1e-5 * a.loss);
  EXPECT_TRUE(support::near(parts, whole, kSummationOrder));
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0.0, difference = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    squares += b[i] * b[i];
    difference += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return std::sqrt(difference / squares);
}

// 64 micro-batches of a bf16 model, one by one and added up in double, in bf16, and by the trainer: sums of 8 bits lose
// what the trainer's do not.
TEST_F(Accumulation, OfManyBf16MicroBatchesIsMadeInFp32) {
  constexpr std::int64_t kCount = 64;
  const data::BlendedSampler sampler({{dataset_->tokens(), 8, data::DataOrder::kSequential, 0}}, {});
  const SampleRules rules{.vocabulary = kTinyVocabulary, .document_positions = false, .ignore_after = std::nullopt};
  const auto gradients = [&](std::int64_t micro_batches, std::int64_t first) {
    TinyModel tiny(1, tensor::DType::kBF16);
    GlobalBatch global(micro_batches, 1, 8, rules);
    global.load({&*dataset_, 1}, sampler, first);
    tiny.run(global);
    return tiny.gradients();
  };
  std::vector<double> exact, narrow;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const std::vector<float> one = gradients(1, i);
    exact.resize(one.size());
    narrow.resize(one.size());
    for (std::size_t e = 0; e < one.size(); ++e) {
      const double part = static_cast<double>(one[e]) / static_cast<double>(kCount);
      exact[e] += part;
      narrow[e] = tensor::to_float(tensor::to_bf16(static_cast<float>(narrow[e] + part)));
    }
  }
  const std::vector<float> ours = gradients(kCount, 0);
  EXPECT_LT(distance({ours.begin(), ours.end()}, exact), 1e-5);
  EXPECT_GT(distance(narrow, exact), 5e-3);
}

TEST_F(Accumulation, AFreshModelsLossIsNearTheLogarithmOfTheVocabulary) {
  std::vector<float> gradients;
  EXPECT_NEAR(run(2, 4, std::nullopt, gradients).loss, std::log(37.0), 0.02);
}

TEST_F(Accumulation, AnInfiniteWeightMakesAStepNonFinite) {
  TinyModel tiny(4);
  const data::BlendedSampler sampler({{dataset_->tokens(), 8, data::DataOrder::kSequential, 0}}, {});
  GlobalBatch global(1, 4, 8,
                     {.vocabulary = kTinyVocabulary, .document_positions = false, .ignore_after = std::nullopt});
  global.load({&*dataset_, 1}, sampler, 0);
  EXPECT_TRUE(tiny.run(global).finite);
  tensor::MutableView embedding = tiny.optimizer.master(0);
  std::fill_n(embedding.as<float>(), embedding.count(), std::numeric_limits<float>::infinity());
  tiny.optimizer.publish(tiny.stream);
  tiny.model.pack(tiny.stream);
  EXPECT_FALSE(tiny.run(global).finite);
}

TEST_F(Accumulation, ABatchWithoutACountedTargetIsNotFinite) {
  TinyModel tiny(4);
  const GlobalBatch nothing(1, 4, 8,
                            {.vocabulary = kTinyVocabulary, .document_positions = false, .ignore_after = std::nullopt});
  EXPECT_FALSE(tiny.run(nothing).finite);
}

TEST_F(Accumulation, UpdatesLowerTheLossOfTheirBatch) {
  TinyModel tiny(4);
  const data::BlendedSampler sampler({{dataset_->tokens(), 8, data::DataOrder::kSequential, 0}}, {});
  GlobalBatch global(1, 4, 8,
                     {.vocabulary = kTinyVocabulary, .document_positions = false, .ignore_after = std::nullopt});
  global.load({&*dataset_, 1}, sampler, 0);
  const StepResult first = tiny.run(global);
  apply(tiny.context(), 1e-2, 1, first.grad_norm);
  EXPECT_LT(tiny.run(global).loss, first.loss - 0.01);
}

}  // namespace
}  // namespace convoy::train
