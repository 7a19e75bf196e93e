// SPDX-License-Identifier: Apache-2.0
// Training of tiny models against PyTorch in double precision: losses, logits, gradient norms, rates, gradients and
// final weights, with the tolerances that the cases bring (tests/golden/parity/README.md says how they were found).
#include <gtest/gtest.h>

#include <cmath>

#include "libcore/checkpoint/hf_folder.h"
#include "tests/unit/model/parity_case.h"
#include "tests/unit/model/parity_checks.h"

namespace convoy::model {
namespace {

using nlohmann::json;
using tensor::DType;

std::vector<checkpoint::NamedTensor> gradients(ParityRun& run) {
  std::vector<checkpoint::NamedTensor> list;
  for (std::size_t i = 0; i < run.parameters().size(); ++i)
    list.push_back({run.parameters().table()[i].name, run.parameters().gradient(i)});
  return list;
}

std::vector<checkpoint::NamedTensor> weights(ParityRun& run) {
  std::vector<checkpoint::NamedTensor> list;
  for (std::size_t i = 0; i < run.parameters().size(); ++i) {
    const LocalParameter& parameter = run.parameters().table()[i];
    list.push_back({parameter.name, tensor::reshaped(run.optimizer().master(i), parameter.shape)});
  }
  return list;
}

void check_logits(Checks& checks, ParityRun& run, const json& expected) {
  const std::vector<float> logits = run.logits(expected["position"].get<std::int64_t>());
  ASSERT_EQ(logits.size(), expected["fp64"].size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    checks.close("logit " + std::to_string(i), logits[i], expected["fp64"][i].get<double>(),
                 expected["tolerance"].get<double>());
  }
}

class Parity : public testing::TestWithParam<std::string> {};
class ParityBf16 : public testing::TestWithParam<std::string> {};

TEST_P(Parity, Fp32TrainingIsThatOfPyTorch) {
  const ParityCase data(GetParam());
  const json& expected = data.expected();
  ParityRun run(data, DType::kF32, 1);
  Checks checks;
  checks.close("forward loss", run.evaluate(0), expected["forward_loss"]);
  check_logits(checks, run, expected["logits"]);
  run.accumulate(0);
  check_tensors(checks, "gradient", gradients(run), expected["gradients"], data.file("grads.safetensors"),
                json::object());
  for (std::int64_t step = 0; step < data.steps(); ++step) {
    const json& want = expected["steps"][static_cast<std::size_t>(step)];
    const ParityRun::Step got = run.train(step);
    const std::string name = "step " + std::to_string(step);
    checks.close(name + " loss", got.loss, want["loss"]);
    checks.close(name + " norm", got.gradient_norm, want["grad_norm"]);
    checks.close(name + " clip", run.optimizer().clip_scale(got.gradient_norm), want["clip_scale"].get<double>(),
                 want["grad_norm"]["tolerance"].get<double>());
    checks.close(name + " lr", got.rate, want["lr"]["fp64"].get<double>(),
                 std::max(want["lr"]["tolerance"].get<double>(), 1e-12));
  }
  checks.close("eval loss", run.evaluate(data.steps()), expected["eval_loss"]);
  check_tensors(checks, "weight", weights(run), expected["parameters"], data.file("final.safetensors"),
                expected["undetermined"]);
  checks.report(GetParam() + " fp32");
}

TEST_P(ParityBf16, Bf16TrainingStaysWithinTheBandOfPyTorch) {
  const ParityCase data(GetParam());
  const json& expected = data.expected()["bf16"];
  ParityRun run(data, DType::kBF16, 1);
  Checks checks;
  for (std::int64_t step = 0; step < data.steps(); ++step) {
    const json& want = expected["steps"][static_cast<std::size_t>(step)];
    const ParityRun::Step got = run.train(step);
    checks.close("step " + std::to_string(step) + " loss", got.loss, want["loss"], "band");
    checks.close("step " + std::to_string(step) + " norm", got.gradient_norm, want["grad_norm"], "band");
  }
  checks.close("eval loss", run.evaluate(data.steps()), expected["eval_loss"], "band");
  checks.report(GetParam() + " bf16");
}

std::string test_name(const testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

const auto kAll = testing::Values("gpt2-tiny", "gpt2-masked", "gpt2-docmask", "llama-gqa", "llama-tied", "llama-rope3",
                                  "llama-bias", "llama-eosmask", "qwen2-gqa");

INSTANTIATE_TEST_SUITE_P(Golden, Parity, kAll, test_name);
INSTANTIATE_TEST_SUITE_P(Golden, ParityBf16, kAll, test_name);

}  // namespace
}  // namespace convoy::model
