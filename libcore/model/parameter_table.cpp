// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/family.h"
#include "libcore/model/parameters.h"

namespace convoy::model {

std::vector<Parameter> parameter_table(const Config& config) { return family_of(config.architecture).table(config); }

std::int64_t parameter_count(const std::vector<Parameter>& table) {
  std::int64_t count = 0;
  for (const Parameter& parameter : table) count += parameter.shape.count();
  return count;
}

double training_flops_per_token(const Config& config, std::int64_t sequence_length) {
  const auto c = static_cast<double>(config.width), f = static_cast<double>(config.ffn_width);
  const auto q = static_cast<double>(config.heads * config.head_size);
  const auto kv = static_cast<double>(config.key_value_heads * config.head_size);
  const double attention = c * (q + 2.0 * kv) + q * c;
  const double mlp = config.architecture == Architecture::kGpt2 ? 2.0 * c * f : 3.0 * c * f;
  const auto layers = static_cast<double>(config.layers);
  const double matmul = layers * (attention + mlp) + static_cast<double>(config.vocabulary) * c;
  return 6.0 * matmul + 6.0 * layers * static_cast<double>(sequence_length) * q;
}

}  // namespace convoy::model
