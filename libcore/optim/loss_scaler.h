// SPDX-License-Identifier: Apache-2.0
// The factor on the loss that keeps fp16 gradients within fp16's range. Pure: what it becomes depends on its state and
// on whether a step's gradients were finite on all ranks.
//
// A dynamic scale begins at 2^16, doubles after 1,000 finite steps in a row, and halves with an overflow once two
// overflows have come since it last grew; it never falls below 1 (Micikevicius et al., "Mixed Precision Training",
// 2018; the constants are those that Megatron-LM's trainers use).
#pragma once

#include <cstdint>

namespace convoy::optim {

constexpr double kInitialLossScale = 65536.0;
constexpr double kLeastLossScale = 1.0;
constexpr double kLossScaleGrowth = 2.0;
constexpr double kLossScaleBackoff = 0.5;
constexpr std::int64_t kLossScaleWindow = 1000;   // finite steps in a row, after which it grows
constexpr std::int64_t kLossScaleHysteresis = 2;  // overflows since it grew, from which on it falls

class LossScaler {
 public:
  // All that a run must keep to go on exactly.
  struct State {
    double scale = kInitialLossScale;
    std::int64_t finite_steps = 0;                       // in a row
    std::int64_t overflows_left = kLossScaleHysteresis;  // until it falls
    friend bool operator==(const State&, const State&) = default;
  };

  LossScaler() = default;                                     // dynamic
  explicit LossScaler(const State& state) : state_(state) {}  // dynamic, going on
  explicit LossScaler(double fixed) : state_{.scale = fixed}, dynamic_(false) {}

  double scale() const { return state_.scale; }
  bool is_dynamic() const { return dynamic_; }
  const State& state() const { return state_; }
  // Whether another overflow would be answered by a lower scale, if not at once then later.
  bool can_fall() const { return dynamic_ && state_.scale > kLeastLossScale; }

  void finite_step();
  void overflow();

 private:
  State state_;
  bool dynamic_ = true;
};

}  // namespace convoy::optim
