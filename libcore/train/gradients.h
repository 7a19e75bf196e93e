// SPDX-License-Identifier: Apache-2.0
// The gradients of all ranks as one unsharded file, for looking at and for comparing layouts.
#pragma once

#include "libcore/base/file.h"
#include "libcore/model/parameters.h"
#include "libcore/train/agreement.h"
#include "libcore/train/step.h"

namespace convoy::train {

// Collective. Rank 0 writes the gradients as they are after the sum over the replicas: fp32 under Hugging Face's names,
// the tied tensor once. It holds them all in memory.
void dump_gradients(const Path& file, const model::Config& config, const StepContext& context, Agreement& agreement);

}  // namespace convoy::train
