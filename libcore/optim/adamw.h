// SPDX-License-Identifier: Apache-2.0
// AdamW over the shares of a rank's parameters: the states, the squares of the gradient norm, clipping and the update,
// tensor by tensor in table order. It does not communicate.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/base/exact_sum.h"
#include "libcore/device/arena.h"
#include "libcore/model/parameters.h"

namespace convoy::optim {

struct AdamWConstants {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double clip_norm = 1.0;  // 0: never clip
};

class AdamW {
 public:
  // fp32 states for the share of every parameter that this rank updates, a flat range of what it holds (that of
  // Parameters unless `shares` says otherwise); a fp32 master of it too unless the weights are fp32 themselves.
  AdamW(model::Parameters& parameters, const AdamWConstants& constants, std::vector<parallel::Range> shares = {});

  const parallel::Range& share(std::size_t i) const;
  // The share's fp32 weights that the optimizer updates: the master, or the weights themselves; and its moments. Flat,
  // [share(i).size()].
  tensor::MutableView master(std::size_t i) const;
  tensor::MutableView first_moment(std::size_t i) const;
  tensor::MutableView second_moment(std::size_t i) const;
  std::size_t bytes() const { return master_.size() + m_.size() + v_.size(); }
  // Writes the masters' values into the shares of the compute weights (after the masters were filled from a file or an
  // initialisation).
  void publish(device::Stream& stream);

  // Multiplies the shares' gradients by `factor`.
  void scale_gradients(device::Stream& stream, float factor);
  // Sum of squares of the shares' gradients, of primary parameters alone: added over the ranks that hold different
  // shares it is the square of the gradient norm, each logical element once, the same bits whatever the shares. Not
  // finite if any gradient is not.
  ExactSum gradient_squares(device::Stream& stream) const;
  // One update, t = `update` from 1, with gradients multiplied by clip_scale(norm).
  void step(device::Stream& stream, double rate, std::int64_t update, double norm);
  double clip_scale(double norm) const;  // clip / (norm + 1e-6) if norm > clip > 0, else 1

 private:
  model::Parameters& parameters_;
  AdamWConstants constants_;
  std::vector<parallel::Range> shares_;
  std::vector<std::size_t> offset_;
  device::Arena master_{"master weights"}, m_{"first moments"}, v_{"second moments"};
};

}  // namespace convoy::optim
