// SPDX-License-Identifier: Apache-2.0
// The loss over a validation set: its windows in order, sums and counts apart, nothing of the training state touched.
#pragma once

#include <cstdint>
#include <string>

#include "libcore/model/model.h"
#include "libcore/parallel/groups.h"
#include "libcore/train/loader.h"
#include "libcore/train/metrics.h"

namespace convoy::train {

struct EvaluationSet {
  std::string name;
  const data::IndexedDataset* dataset = nullptr;
  data::Sampler sampler;
  std::int64_t samples = 0;  // the first so many windows
};

// Collective over all ranks: every replica evaluates its part of the micro-batches, and all get the loss over all of
// them, the same bits for any number of replicas. `scratch` is overwritten; its rows stay empty where the samples do
// not fill it.
EvalMetrics evaluate(device::Stream& stream, model::Model& model, const parallel::Groups& groups,
                     const EvaluationSet& set, const SampleRules& rules, MicroBatch& scratch);

}  // namespace convoy::train
