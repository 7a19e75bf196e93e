// SPDX-License-Identifier: Apache-2.0
// Both passes of a model of one stage over one micro-batch.
#pragma once

#include "libcore/model/model.h"

namespace convoy::model {

inline LossSum forward_backward(Model& model, device::Stream& stream, const Batch& batch, float gradient_scale,
                                const GradientsReady& ready = {}) {
  model.forward(stream, batch, 0);
  return model.backward(stream, batch, gradient_scale, ready);
}

}  // namespace convoy::model
