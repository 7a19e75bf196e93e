// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/model/parity_case.h"

#include <cstring>

#include "libcore/base/error.h"
#include "libcore/checkpoint/hf_folder.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/classifier.h"
#include "libcore/tensor/tensor.h"
#include "tests/unit/model/forward_backward.h"

namespace convoy::model {
namespace {

using nlohmann::json;
using tensor::DType;

template <class T>
std::vector<std::int32_t> read_integers(const Path& path) {
  const std::string bytes = read_file(path, "parity data");
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return {values.begin(), values.end()};
}

json read_json(const Path& path) { return json::parse(read_file(path, "parity case")); }

}  // namespace

ParityCase::ParityCase(const std::string& name)
    : folder_(Path(CONVOY_GOLDEN_DIR) / "parity" / name),
      case_(read_json(folder_ / "case.json")),
      expected_(read_json(folder_ / "expected.json")) {
  const json& sizes = case_["batch"];
  steps_ = sizes["steps"];
  sequences_ = sizes["sequences"];
  sequence_ = sizes["tokens"];
  micro_batches_ = sizes["micro_batches"];
  const bool narrow = case_["tokens"]["dtype"] == "uint16";
  const std::vector<std::int32_t> windows = narrow ? read_integers<std::uint16_t>(folder_ / "tokens.bin")
                                                   : read_integers<std::int32_t>(folder_ / "tokens.bin");
  for (std::int64_t window = 0; window < (steps_ + 1) * sequences_; ++window) {
    for (std::int64_t t = 0; t < sequence_; ++t) {
      tokens_.push_back(windows[static_cast<std::size_t>(window * (sequence_ + 1) + t)]);
      targets_.push_back(windows[static_cast<std::size_t>(window * (sequence_ + 1) + t + 1)]);
    }
  }
  if (case_.contains("targets")) targets_ = read_integers<std::int32_t>(folder_ / "targets.bin");
  if (case_.contains("positions")) positions_ = read_integers<std::int32_t>(folder_ / "positions.bin");
}

tensor::View ParityCase::view(const std::vector<std::int32_t>& values, std::int64_t step,
                              std::int64_t micro_batch) const {
  const std::int64_t first = (step * sequences_ + micro_batch * micro_batch_size()) * sequence_;
  return {values.data() + first, DType::kI32, {micro_batch_size(), sequence_}};
}

Batch ParityCase::batch(std::int64_t step, std::int64_t micro_batch) const {
  Batch batch{
      .tokens = view(tokens_, step, micro_batch), .targets = view(targets_, step, micro_batch), .positions = {}};
  if (!positions_.empty()) batch.positions = view(positions_, step, micro_batch);
  return batch;
}

std::int64_t ParityCase::target_count(std::int64_t step) const {
  return step == steps_ ? case_["eval_target_count"].get<std::int64_t>()
                        : case_["target_counts"][static_cast<std::size_t>(step)].get<std::int64_t>();
}

Config ParityCase::config() const { return read_config(folder_); }

optim::AdamWConstants ParityCase::optimizer() const {
  const json& o = case_["optimizer"];
  return {.beta1 = o["betas"][0],
          .beta2 = o["betas"][1],
          .epsilon = o["eps"],
          .weight_decay = o["weight_decay"],
          .clip_norm = o["clip"]};
}

optim::LrSchedule ParityCase::schedule() const {
  const json& s = case_["schedule"];
  if (s["kind"] == "constant") return {.kind = optim::ScheduleKind::kConstant, .peak = s["peak"]};
  return {.kind = optim::ScheduleKind::kCosine,
          .peak = s["peak"],
          .minimum = s["minimum"],
          .warmup_steps = s["warmup_steps"],
          .decay_steps = s["decay_steps"]};
}

ParityRun::ParityRun(const ParityCase& data, DType dtype, int threads)
    : data_(data),
      stream_(ops::cpu_backend(), threads),
      config_(data.config()),
      parameters_(parameter_table(config_), dtype, true),
      optimizer_(parameters_, data.optimizer()),
      schedule_(data.schedule()),
      model_(stream_, config_, parameters_, data.micro_batch_size(), data.sequence(), true) {
  std::vector<checkpoint::ExpectedTensor> expected;
  for (const Parameter& parameter : parameters_.table()) expected.push_back({parameter.name, parameter.shape});
  const checkpoint::HfFolder folder(data.file(""), expected, config_.tied_embeddings);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const LocalParameter& parameter = parameters_.table()[i];
    folder.read(parameter.name, tensor::reshaped(optimizer_.master(i), parameter.shape));
  }
  optimizer_.publish(stream_);
  model_.pack(stream_);
}

double ParityRun::evaluate(std::int64_t step) {
  LossSum loss;
  for (std::int64_t i = 0; i < data_.micro_batches(); ++i) loss += model_.evaluate(stream_, data_.batch(step, i));
  check(loss.targets == data_.target_count(step), "the counted targets are those of the case");
  return loss.sum / static_cast<double>(loss.targets);
}

double ParityRun::accumulate(std::int64_t step) {
  parameters_.zero_gradients(stream_);
  const auto count = static_cast<double>(data_.target_count(step));
  LossSum loss;
  for (std::int64_t i = 0; i < data_.micro_batches(); ++i) {
    loss += forward_backward(model_, stream_, data_.batch(step, i), static_cast<float>(1.0 / count));
  }
  check(loss.targets == data_.target_count(step), "the counted targets are those of the case");
  return loss.sum / count;
}

ParityRun::Step ParityRun::train(std::int64_t step) {
  Step result{.loss = accumulate(step),
              .gradient_norm = std::sqrt(optimizer_.gradient_squares(stream_).value()),
              .rate = schedule_.rate(step)};
  optimizer_.step(stream_, result.rate, step + 1, result.gradient_norm);
  model_.pack(stream_);
  return result;
}

std::vector<float> ParityRun::logits(std::int64_t row) {
  std::vector<float> values(static_cast<std::size_t>(config_.vocabulary));
  model_.logits(stream_, data_.batch(0, 0), row, {values.data(), DType::kF32, {config_.vocabulary}, 0});
  return values;
}

}  // namespace convoy::model
