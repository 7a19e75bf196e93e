// SPDX-License-Identifier: Apache-2.0
// A folder of tests/golden/parity: a tiny model, its data, and what PyTorch computes when it trains on them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/model/model.h"
#include "libcore/optim/adamw.h"
#include "libcore/optim/lr_schedule.h"

namespace convoy::model {

class ParityCase {
 public:
  explicit ParityCase(const std::string& name);

  const nlohmann::json& expected() const { return expected_; }
  Path file(const char* name) const { return folder_ / name; }

  std::int64_t steps() const { return steps_; }
  std::int64_t micro_batches() const { return micro_batches_; }
  std::int64_t micro_batch_size() const { return sequences_ / micro_batches_; }  // B
  std::int64_t sequence() const { return sequence_; }                            // T
  Batch batch(std::int64_t step, std::int64_t micro_batch) const;
  std::int64_t target_count(std::int64_t step) const;

  Config config() const;
  optim::AdamWConstants optimizer() const;
  optim::LrSchedule schedule() const;

 private:
  tensor::View view(const std::vector<std::int32_t>& values, std::int64_t step, std::int64_t micro_batch) const;

  Path folder_;
  nlohmann::json case_, expected_;
  std::int64_t steps_, sequences_, sequence_, micro_batches_;
  std::vector<std::int32_t> tokens_, targets_, positions_;  // [steps + 1, B, T]
};

// A model and its optimizer, started from the case's weights.
class ParityRun {
 public:
  ParityRun(const ParityCase& data, tensor::DType dtype, int threads);

  struct Step {
    double loss, gradient_norm, rate;
  };
  // The mean loss of a global batch, without its gradients.
  double evaluate(std::int64_t step);
  // The mean loss of a global batch; its mean gradient is in parameters().
  double accumulate(std::int64_t step);
  Step train(std::int64_t step);
  std::vector<float> logits(std::int64_t row);

  Parameters& parameters() { return parameters_; }
  const optim::AdamW& optimizer() const { return optimizer_; }

 private:
  const ParityCase& data_;
  device::Stream stream_;
  Config config_;
  Parameters parameters_;
  optim::AdamW optimizer_;
  optim::LrSchedule schedule_;
  Model model_;
};

}  // namespace convoy::model
