// SPDX-License-Identifier: Apache-2.0
#include "libcore/optim/adamw.h"

#include <cmath>

#include "libcore/base/error.h"
#include "libcore/ops/optimizer.h"

namespace convoy::optim {

using tensor::DType;
using tensor::MutableView;

AdamW::AdamW(model::Parameters& parameters, const AdamWConstants& constants, std::vector<parallel::Range> shares)
    : parameters_(parameters), constants_(constants), shares_(std::move(shares)) {
  if (shares_.empty()) {
    for (std::size_t i = 0; i < parameters.size(); ++i) shares_.push_back(parameters.share(i));
  }
  check(shares_.size() == parameters.size(), "every parameter has a share");
  const bool with_master = parameters.compute_dtype() != DType::kF32;
  for (const parallel::Range& share : shares_) {
    const std::size_t bytes = static_cast<std::size_t>(share.size()) * sizeof(float);
    offset_.push_back(m_.reserve(bytes));
    v_.reserve(bytes);
    if (with_master) master_.reserve(bytes);
  }
  m_.allocate({});
  v_.allocate({});
  if (with_master) master_.allocate({});
}

const parallel::Range& AdamW::share(std::size_t i) const { return shares_[i]; }

MutableView AdamW::master(std::size_t i) const {
  if (parameters_.compute_dtype() == DType::kF32) return parameters_.weight_part(i, shares_[i]);
  return {master_.at(offset_[i]), DType::kF32, {shares_[i].size()}, 0};
}

MutableView AdamW::first_moment(std::size_t i) const {
  return {m_.at(offset_[i]), DType::kF32, {shares_[i].size()}, 0};
}

MutableView AdamW::second_moment(std::size_t i) const {
  return {v_.at(offset_[i]), DType::kF32, {shares_[i].size()}, 0};
}

void AdamW::publish(device::Stream& stream) {
  if (parameters_.compute_dtype() == DType::kF32) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    ops::cast(stream, master(i), parameters_.weight_part(i, shares_[i]));
  }
}

void AdamW::scale_gradients(device::Stream& stream, float factor) {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    ops::scale(stream, factor, parameters_.gradient_part(i, shares_[i]));
}

ExactSum AdamW::gradient_squares(device::Stream& stream) const {
  ExactSum sum;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_.table()[i].primary) continue;
    ops::sum_of_squares(stream, parameters_.gradient_part(i, shares_[i]), sum);
  }
  return sum;
}

double AdamW::clip_scale(double norm) const {
  if (constants_.clip_norm <= 0.0 || !(norm > constants_.clip_norm)) return 1.0;
  return constants_.clip_norm / (norm + 1e-6);
}

void AdamW::step(device::Stream& stream, double rate, std::int64_t update, double norm) {
  const double correction1 = 1.0 - std::pow(constants_.beta1, static_cast<double>(update));
  const double correction2 = 1.0 - std::pow(constants_.beta2, static_cast<double>(update));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const model::LocalParameter& parameter = parameters_.table()[i];
    const MutableView weight = parameters_.weight_part(i, shares_[i]);
    ops::adamw(stream, {.gradient = parameters_.gradient_part(i, shares_[i]),
                        .parameter = master(i),
                        .m = first_moment(i),
                        .v = second_moment(i),
                        .rounded = weight.dtype == DType::kF32 ? MutableView{} : weight,
                        .gradient_scale = static_cast<float>(clip_scale(norm)),
                        .rate = static_cast<float>(rate),
                        .beta1 = constants_.beta1,
                        .beta2 = constants_.beta2,
                        .epsilon = static_cast<float>(constants_.epsilon),
                        .weight_decay = parameter.decays ? static_cast<float>(constants_.weight_decay) : 0.0f,
                        .correction1 = correction1,
                        .correction2 = correction2});
  }
}

}  // namespace convoy::optim
