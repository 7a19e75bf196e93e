// SPDX-License-Identifier: Apache-2.0
#include "libcore/model/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "libcore/base/error.h"
#include "libcore/base/random.h"
#include "libcore/ops/optimizer.h"

namespace convoy::model {
namespace {

constexpr std::int64_t kInitialisationGrain = 4096;  // elements a thread takes at least: whole blocks of randomness

// values[i] = std * normal_at(key, i) for i in [begin, end); `begin` starts a block.
void fill_normal(std::uint64_t key, float std, std::int64_t begin, std::int64_t end, float* values) {
  for (std::int64_t first = begin; first < end; first += 4) {
    const std::array<float, 4> block = normal_block(key, static_cast<std::uint64_t>(first / 4));
    const std::int64_t count = std::min<std::int64_t>(4, end - first);
    for (std::int64_t i = 0; i < count; ++i) values[first + i] = std * block[static_cast<std::size_t>(i)];
  }
}

}  // namespace

Parameters::Parameters(std::vector<Parameter> table, tensor::DType compute, bool with_gradients)
    : table_(std::move(table)), compute_(compute) {
  for (const Parameter& parameter : table_) {
    const auto count = static_cast<std::size_t>(parameter.shape.count());
    weight_offset_.push_back(weights_.reserve(count * tensor::size_of(compute_)));
    if (with_gradients) gradient_offset_.push_back(gradients_.reserve(count * sizeof(float)));
  }
  weights_.allocate({});
  if (with_gradients) gradients_.allocate({});
}

std::size_t Parameters::index(std::string_view name) const {
  const auto it = std::find_if(table_.begin(), table_.end(), [&](const Parameter& p) { return p.name == name; });
  check(it != table_.end(), fmt::format("the parameter table has an entry {}", name));
  return static_cast<std::size_t>(it - table_.begin());
}

tensor::MutableView Parameters::weight(std::size_t i) const {
  return {weights_.at(weight_offset_[i]), compute_, table_[i].shape, 0};
}

tensor::MutableView Parameters::gradient(std::size_t i) const {
  if (gradient_offset_.empty()) return {};
  return {gradients_.at(gradient_offset_[i]), tensor::DType::kF32, table_[i].shape, 0};
}

void Parameters::zero_gradients(device::Stream& stream) {
  for (std::size_t i = 0; i < gradient_offset_.size(); ++i) ops::fill_zero(stream, gradient(i));
}

void initial_values(const Parameter& parameter, std::uint64_t seed, device::Stream& stream, tensor::MutableView out) {
  tensor::expect(out, parameter.shape, tensor::DType::kF32, parameter.name);
  auto* values = out.as<float>();
  const std::uint64_t key = stream_key(seed, "init:" + parameter.name);
  const auto std = static_cast<float>(parameter.init_std);
  const float constant = parameter.init == Init::kOne ? 1.0f : 0.0f;
  stream.pool().parallel_for(out.count(), kInitialisationGrain,
                             [&](std::int64_t begin, std::int64_t end, int /*thread*/) {
                               if (parameter.init != Init::kNormal)
                                 return std::fill(values + begin, values + end, constant);
                               fill_normal(key, std, begin, end, values);
                             });
}

}  // namespace convoy::model
