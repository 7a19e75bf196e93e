// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "libcore/base/error.h"
#include "libcore/base/random.h"
#include "libcore/ops/backend.h"
#include "libcore/ops/classifier.h"
#include "libcore/ops/optimizer.h"

namespace convoy::train {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

// Lengths are rounded up to a multiple, because a product of a length not seen before has to be prepared first. What is
// filled in comes after the tokens, where causal attention does not look.
constexpr std::int64_t kLengthStep = 32;
constexpr std::int64_t kLongestWindow = 2048;

void load_weights(device::Stream& stream, checkpoint::WeightSource& source, const model::Config& config,
                  model::Parameters& parameters) {
  source.expect(checkpoint::expected_tensors(model::parameter_table(config)), config.tied_embeddings);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const model::Parameter& parameter = parameters.table()[i];
    if (parameters.compute_dtype() == DType::kF32) {
      source.read(parameter.name, parameters.weight(i));
      continue;
    }
    Tensor widened(parameter.shape, DType::kF32);
    source.read(parameter.name, widened.mutable_view());
    ops::cast(stream, widened.view(), parameters.weight(i));
  }
}

// Text is written without dropout, whatever rates the model was trained with.
model::Config config_of(const checkpoint::WeightSource& source) {
  model::Config config = model::parse_config(source.model_config(), source.config_name());
  config.dropout = {};
  return config;
}

}  // namespace

std::int32_t choose_token(std::span<const float> logits, double temperature, std::int64_t top_k, double uniform) {
  check(!logits.empty(), "there is a vocabulary to choose from");
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  if (temperature <= 0.0) return *std::min_element(order.begin(), order.end(), better);
  const std::size_t kept = top_k > 0 ? std::min(order.size(), static_cast<std::size_t>(top_k)) : order.size();
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(), better);
  const double largest = logits[static_cast<std::size_t>(order.front())];
  std::vector<double> weights(kept);
  for (std::size_t i = 0; i < kept; ++i) {
    weights[i] = std::exp((static_cast<double>(logits[static_cast<std::size_t>(order[i])]) - largest) / temperature);
  }
  double left = uniform * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < kept; ++i) {
    left -= weights[i];
    if (left < 0.0) return order[i];
  }
  return order[kept - 1];
}

double sampling_uniform(std::uint64_t seed, std::int64_t index) {
  const std::uint64_t key = stream_key(seed, "sample");
  const std::uint64_t counter = static_cast<std::uint64_t>(index);
  const PhiloxBlock block =
      philox4x32({static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)},
                 {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0});
  return static_cast<double>(block[0]) / 4294967296.0;
}

Generator::Generator(checkpoint::WeightSource& source, DType compute, int threads)
    : config_(config_of(source)),
      stream_(ops::cpu_backend(), threads),
      parameters_(model::parameter_table(config_), compute, false),
      model_(stream_, config_, parameters_, 1, std::min(config_.positions, kLongestWindow), false),
      window_(std::min(config_.positions, kLongestWindow)),
      tokens_(Shape{1, window_}, DType::kI32),
      targets_(Shape{1, window_}, DType::kI32),
      logits_(Shape{config_.vocabulary}, DType::kF32) {
  load_weights(stream_, source, config_, parameters_);
  model_.pack(stream_);
  std::fill_n(targets_.as<std::int32_t>(), window_, ops::kIgnoredTarget);
}

std::span<const float> Generator::next_logits(const std::vector<std::int32_t>& tokens) {
  const std::int64_t used = std::min<std::int64_t>(static_cast<std::int64_t>(tokens.size()), window_);
  const std::int64_t length = std::min((used + kLengthStep - 1) / kLengthStep * kLengthStep, window_);
  std::int32_t* window = tokens_.as<std::int32_t>();
  std::fill(std::copy(tokens.end() - used, tokens.end(), window), window + length, 0);
  const Shape shape{1, length};
  const model::Batch batch{{window, DType::kI32, shape}, {targets_.as<std::int32_t>(), DType::kI32, shape}, {}};
  model_.logits(stream_, batch, used - 1, logits_.mutable_view());
  const std::span<const float> logits(logits_.as<float>(), static_cast<std::size_t>(config_.vocabulary));
  if (std::any_of(logits.begin(), logits.end(), [](float x) { return !std::isfinite(x); })) {
    throw NumericsError(
        "the model's logits are not numbers, so there is no next token to choose: its weights hold values that are not "
        "finite, or overflow in this precision (--precision fp32 has the wider range); take another checkpoint");
  }
  return logits;
}

void Generator::generate(std::vector<std::int32_t>& tokens, std::int64_t vocabulary, const SamplingOptions& options,
                         const std::function<bool(std::int32_t)>& on_token) {
  check(!tokens.empty(), "generation starts from at least one token");
  const std::size_t allowed = static_cast<std::size_t>(std::min(vocabulary, config_.vocabulary));
  for (std::int64_t i = 0; i < options.max_tokens; ++i) {
    const std::span<const float> logits = next_logits(tokens).first(allowed);
    const std::int32_t next =
        choose_token(logits, options.temperature, options.top_k, sampling_uniform(options.seed, i));
    tokens.push_back(next);
    if (!on_token(next)) return;
  }
}

}  // namespace convoy::train
