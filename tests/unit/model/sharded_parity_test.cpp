// SPDX-License-Identifier: Apache-2.0
// The training of tests/golden/parity on thread ranks that share the model, in the tolerances of one rank.
#include <gtest/gtest.h>

#include <mutex>

#include "libcore/comm/threads.h"
#include "tests/unit/model/parity_case.h"
#include "tests/unit/model/parity_checks.h"
#include "tests/unit/model/sharded_run.h"

namespace convoy::model {
namespace {

using nlohmann::json;
using tensor::DType;

struct Choice {
  std::string name;  // of the case
  int tensor, pipeline;
  parallel::ScheduleKind schedule = parallel::ScheduleKind::kOneForwardOneBackward;
};

// What a rank reports, and the tensors that all of them filled.
struct Outcome {
  double forward_loss = 0.0, eval_loss = 0.0;
  std::vector<ParityRun::Step> steps;
  Gathered gradients, weights;
};

ShardedOptions options_of(const ParityCase& data, const Choice& choice, DType dtype) {
  ShardedOptions options;
  options.layout.tensor = choice.tensor;
  options.layout.pipeline = choice.pipeline;
  options.layout.schedule = choice.schedule;
  options.dtype = dtype;
  options.batch = data.micro_batch_size();
  options.sequence = data.sequence();
  options.micro_batches = static_cast<int>(data.micro_batches());
  return options;
}

std::vector<Batch> batches_of(const ParityCase& data, std::int64_t step) {
  std::vector<Batch> batches;
  for (std::int64_t i = 0; i < data.micro_batches(); ++i) batches.push_back(data.batch(step, i));
  return batches;
}

void read_weights(const ParityCase& data, const Config& config, ShardedRun& run) {
  const checkpoint::HfFolder folder(data.file(""), checkpoint::expected_tensors(parameter_table(config)),
                                    config.tied_embeddings);
  for (std::size_t i = 0; i < run.parameters().size(); ++i) {
    const LocalParameter& parameter = run.parameters().table()[i];
    folder.read(parameter.name, parameter.box, tensor::reshaped(run.optimizer().master(i), parameter.local_shape()));
  }
  run.publish();
}

// `outcome` of rank 0; the gathered tensors are everyone's.
void train_rank(comm::Communicator& world, const ParityCase& data, const ShardedOptions& options, Outcome& outcome) {
  const Config config = data.config();
  ShardedRun run(world, config, options, data.optimizer());
  read_weights(data, config, run);
  const auto mean = [&](const LossSum& loss, std::int64_t step) {
    EXPECT_EQ(loss.targets, data.target_count(step));
    return loss.sum / static_cast<double>(loss.targets);
  };
  const auto scale = [&](std::int64_t step) {
    return static_cast<float>(1.0 / static_cast<double>(data.target_count(step)));
  };
  Outcome mine;
  mine.forward_loss = mean(run.evaluate(batches_of(data, 0)), 0);
  for (std::int64_t step = 0; step < data.steps(); ++step) {
    ParityRun::Step result{};
    result.loss = mean(run.accumulate(batches_of(data, step), scale(step)), step);
    if (step == 0) run.gather_gradients(outcome.gradients);
    result.gradient_norm = run.gradient_norm();
    result.rate = data.schedule().rate(step);
    run.step(result.rate, step + 1, result.gradient_norm);
    mine.steps.push_back(result);
  }
  mine.eval_loss = mean(run.evaluate(batches_of(data, data.steps())), data.steps());
  run.gather_weights(outcome.weights);
  if (world.rank() != 0) return;
  outcome.forward_loss = mine.forward_loss;
  outcome.eval_loss = mine.eval_loss;
  outcome.steps = mine.steps;
}

void train(const ParityCase& data, const ShardedOptions& options, Outcome& outcome) {
  comm::run_ranks(options.layout.world(),
                  [&](comm::Communicator& world) { train_rank(world, data, options, outcome); });
}

std::string layout_name(const Choice& choice) {
  std::string name = choice.name + "_tp" + std::to_string(choice.tensor) + "_pp" + std::to_string(choice.pipeline);
  if (choice.schedule == parallel::ScheduleKind::kGpipe) name += "_gpipe";
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

class ShardedParity : public testing::TestWithParam<Choice> {};
class ShardedParityBf16 : public testing::TestWithParam<Choice> {};

TEST_P(ShardedParity, Fp32TrainingIsThatOfPyTorch) {
  const ParityCase data(GetParam().name);
  const json& expected = data.expected();
  Outcome got;
  train(data, options_of(data, GetParam(), DType::kF32), got);
  Checks checks;
  const std::vector<Parameter> table = parameter_table(data.config());
  checks.close("forward loss", got.forward_loss, expected["forward_loss"]);
  check_tensors(checks, "gradient", got.gradients.in_order(table), expected["gradients"],
                data.file("grads.safetensors"), json::object());
  for (std::size_t step = 0; step < got.steps.size(); ++step) {
    const std::string name = "step " + std::to_string(step);
    checks.close(name + " loss", got.steps[step].loss, expected["steps"][step]["loss"]);
    checks.close(name + " norm", got.steps[step].gradient_norm, expected["steps"][step]["grad_norm"]);
  }
  checks.close("eval loss", got.eval_loss, expected["eval_loss"]);
  check_tensors(checks, "weight", got.weights.in_order(table), expected["parameters"], data.file("final.safetensors"),
                expected["undetermined"]);
  checks.report(layout_name(GetParam()));
}

TEST_P(ShardedParityBf16, Bf16TrainingStaysWithinTheBandOfPyTorch) {
  const ParityCase data(GetParam().name);
  const json& expected = data.expected()["bf16"];
  Outcome got;
  train(data, options_of(data, GetParam(), DType::kBF16), got);
  Checks checks;
  for (std::size_t step = 0; step < got.steps.size(); ++step) {
    const std::string name = "step " + std::to_string(step);
    checks.close(name + " loss", got.steps[step].loss, expected["steps"][step]["loss"], "band");
    checks.close(name + " norm", got.steps[step].gradient_norm, expected["steps"][step]["grad_norm"], "band");
  }
  checks.close("eval loss", got.eval_loss, expected["eval_loss"], "band");
  checks.report(layout_name(GetParam()) + " bf16");
}

const auto kGpipe = parallel::ScheduleKind::kGpipe;

// gpt2-docmask has three heads.
INSTANTIATE_TEST_SUITE_P(
    Golden, ShardedParity,
    testing::Values(Choice{"gpt2-tiny", 2, 1}, Choice{"gpt2-tiny", 1, 2}, Choice{"gpt2-tiny", 2, 2},
                    Choice{"gpt2-tiny", 1, 2, kGpipe}, Choice{"llama-gqa", 2, 1}, Choice{"llama-gqa", 1, 2},
                    Choice{"llama-gqa", 2, 2}, Choice{"llama-gqa", 1, 4}, Choice{"llama-tied", 2, 1},
                    Choice{"llama-tied", 1, 2}, Choice{"llama-tied", 2, 2}, Choice{"llama-bias", 2, 1},
                    Choice{"llama-bias", 1, 2}, Choice{"llama-bias", 2, 2}, Choice{"qwen2-gqa", 2, 1},
                    Choice{"qwen2-gqa", 4, 1}, Choice{"qwen2-gqa", 2, 3}, Choice{"gpt2-docmask", 3, 1},
                    Choice{"gpt2-docmask", 1, 2}, Choice{"gpt2-docmask", 3, 2}, Choice{"gpt2-masked", 2, 1},
                    Choice{"gpt2-masked", 1, 2}, Choice{"gpt2-masked", 2, 2}),
    [](const auto& test) { return layout_name(test.param); });
INSTANTIATE_TEST_SUITE_P(Golden, ShardedParityBf16,
                         testing::Values(Choice{"gpt2-tiny", 2, 1}, Choice{"llama-gqa", 2, 1},
                                         Choice{"llama-tied", 1, 2}, Choice{"gpt2-masked", 2, 2}),
                         [](const auto& test) { return layout_name(test.param); });

}  // namespace
}  // namespace convoy::model
