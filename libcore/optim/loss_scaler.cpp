// SPDX-License-Identifier: Apache-2.0
#include "libcore/optim/loss_scaler.h"

#include <algorithm>

namespace convoy::optim {

void LossScaler::finite_step() {
  if (!dynamic_ || ++state_.finite_steps < kLossScaleWindow) return;
  state_ = {.scale = state_.scale * kLossScaleGrowth};
}

void LossScaler::overflow() {
  if (!dynamic_) return;
  state_.finite_steps = 0;
  state_.overflows_left = std::max<std::int64_t>(0, state_.overflows_left - 1);
  if (state_.overflows_left == 0) state_.scale = std::max(kLeastLossScale, state_.scale * kLossScaleBackoff);
}

}  // namespace convoy::optim
