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

constexpr std::int64_t kInitialisationGrain = 4096;  // elements a thread takes at least

std::vector<LocalParameter> whole_tensors(const std::vector<Parameter>& table) {
  std::vector<LocalParameter> local;
  for (const Parameter& parameter : table) {
    local.push_back({parameter, tensor::whole(parameter.shape)});
    local.back().partial = false;
  }
  return local;
}

}  // namespace

Parameters::Parameters(const std::vector<Parameter>& table, tensor::DType compute, bool with_gradients)
    : Parameters(whole_tensors(table), compute, with_gradients) {}

Parameters::Parameters(std::vector<LocalParameter> table, tensor::DType compute, bool with_gradients,
                       const parallel::Sharding& sharding, std::int64_t layers)
    : table_(std::move(table)),
      compute_(compute),
      sharding_(sharding),
      units_(units_of(table_, layers)),
      weights_(table_, compute, sharding, sharding.weights, units_, "weights") {
  check(layers > 0 || (!sharding.weights && !sharding.gradients), "who shares layers knows how many the model has");
  if (with_gradients)
    gradients_ = ParameterMemory(table_, tensor::DType::kF32, sharding, sharding.gradients, units_, "gradients");
}

bool Parameters::contains(std::string_view name) const {
  return std::any_of(table_.begin(), table_.end(), [&](const LocalParameter& p) { return p.name == name; });
}

std::size_t Parameters::index(std::string_view name) const {
  const auto it = std::find_if(table_.begin(), table_.end(), [&](const LocalParameter& p) { return p.name == name; });
  check(it != table_.end(), fmt::format("the parameter table has an entry {}", name));
  return static_cast<std::size_t>(it - table_.begin());
}

tensor::MutableView Parameters::gradient(std::size_t i) const {
  return gradients_.present() ? gradients_.whole(i) : tensor::MutableView{};
}

void Parameters::zero_gradients(device::Stream& stream) {
  for (std::size_t i = 0; gradients_.present() && i < size(); ++i) ops::fill_zero(stream, kept_gradient(i));
}

parallel::ShardedTensors sharded_tensors(const Parameters& parameters) {
  parallel::ShardedTensors tensors{.sharding = parameters.sharding(), .units = parameters.units()};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    tensors.weights.push_back(parameters.weight(i));
    tensors.gradients.push_back(parameters.gradient(i));
    if (tensors.sharding.weights) tensors.weight_shares.push_back(parameters.kept_weight(i));
    if (tensors.sharding.gradients) tensors.gradient_shares.push_back(parameters.kept_gradient(i));
  }
  return tensors;
}

namespace {

// values[i] = the initial value of global element first + i, for i in [begin, end).
void fill_initial(const Parameter& parameter, std::uint64_t key, std::int64_t first, std::int64_t begin,
                  std::int64_t end, float* values) {
  if (parameter.init != Init::kNormal) {
    return std::fill(values + begin, values + end, parameter.init == Init::kOne ? 1.0f : 0.0f);
  }
  const auto std = static_cast<float>(parameter.init_std);
  std::int64_t i = begin;
  while (i < end) {
    const std::int64_t element = first + i;
    const std::array<float, 4> block = normal_block(key, static_cast<std::uint64_t>(element / 4));
    for (std::int64_t lane = element % 4; lane < 4 && i < end; ++lane, ++i) {
      values[i] = std * block[static_cast<std::size_t>(lane)];
    }
  }
}

}  // namespace

void initial_values(const Parameter& parameter, std::uint64_t seed, device::Stream& stream, tensor::MutableView out) {
  tensor::expect(out, parameter.shape, tensor::DType::kF32, parameter.name);
  initial_values({parameter, tensor::whole(parameter.shape)}, {0, out.count()}, seed, stream, out);
}

void initial_values(const LocalParameter& parameter, const parallel::Range& range, std::uint64_t seed,
                    device::Stream& stream, tensor::MutableView out) {
  check(out.dtype == tensor::DType::kF32 && out.count() == range.size(), "initial values are fp32, one an element");
  const std::uint64_t key = stream_key(seed, "init:" + parameter.name);
  auto* values = out.as<float>();
  // Rows of a box lie side by side in the whole tensor only if the box is as wide as it.
  for (const tensor::Box& box : tensor::boxes_of_range(parameter.box, range.begin, range.end)) {
    const std::int64_t width = box.extent.rank() == 0 ? 1 : box.extent.back();
    const bool wide = parameter.shape.rank() == 0 || width == parameter.shape.back();
    const std::int64_t rows = wide ? 1 : box.count() / width, row = wide ? box.count() : width;
    const std::int64_t first = tensor::index_in_whole(parameter.shape, box, 0);
    const std::int64_t grain = std::max<std::int64_t>(1, kInitialisationGrain / row);
    stream.pool().parallel_for(wide ? row : rows, wide ? kInitialisationGrain : grain,
                               [&](std::int64_t begin, std::int64_t end, int /*thread*/) {
                                 if (wide) return fill_initial(parameter, key, first, begin, end, values);
                                 for (std::int64_t r = begin; r < end; ++r) {
                                   fill_initial(parameter, key, first + r * parameter.shape.back(), 0, row,
                                                values + r * row);
                                 }
                               });
    values += box.count();
  }
}

}  // namespace convoy::model
