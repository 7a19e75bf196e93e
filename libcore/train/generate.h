// SPDX-License-Identifier: Apache-2.0
// Text, token by token, from the weights of a checkpoint or a folder. The same seed gives the same tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "libcore/checkpoint/weight_source.h"
#include "libcore/device/stream.h"
#include "libcore/model/model.h"
#include "libcore/tensor/tensor.h"

namespace convoy::train {

struct SamplingOptions {
  std::int64_t max_tokens = 200;
  double temperature = 0.8;  // 0: always the likeliest token
  std::int64_t top_k = 50;   // 0: all
  std::uint64_t seed = 1;
};

// Which token comes next. `uniform` in [0, 1) decides; of equal logits the lower id counts as the larger.
std::int32_t choose_token(std::span<const float> logits, double temperature, std::int64_t top_k, double uniform);

// The uniform number of the `index`-th token that `seed` samples.
double sampling_uniform(std::uint64_t seed, std::int64_t index);

class Generator {
 public:
  // Loads the weights as `compute`.
  Generator(checkpoint::WeightSource& source, tensor::DType compute, int threads);

  const model::Config& config() const { return config_; }

  // Appends to `tokens` (at least one) until `max_tokens` have come or `on_token` returns false. Only ids below
  // `vocabulary` are chosen. Beyond the model's positions the oldest tokens leave the window. NumericsError if the
  // logits are not numbers.
  void generate(std::vector<std::int32_t>& tokens, std::int64_t vocabulary, const SamplingOptions& options,
                const std::function<bool(std::int32_t)>& on_token);

 private:
  std::span<const float> next_logits(const std::vector<std::int32_t>& tokens);

  model::Config config_;
  device::Stream stream_;
  model::Parameters parameters_;
  model::Model model_;
  std::int64_t window_;     // at most so many tokens are looked at
  tensor::Tensor tokens_;   // [1, window]
  tensor::Tensor targets_;  // [1, window], none counts
  tensor::Tensor logits_;   // [V]
};

}  // namespace convoy::train
