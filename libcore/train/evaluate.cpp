// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/evaluate.h"

namespace convoy::train {

EvalMetrics evaluate(device::Stream& stream, model::Model& model, const EvaluationSet& set, const SampleRules& rules,
                     MicroBatch& scratch) {
  model::LossSum total;
  for (std::int64_t first = 0; first < set.samples; first += scratch.rows()) {
    for (std::int64_t row = 0; row < scratch.rows(); ++row) {
      const std::int64_t sample = first + row;
      if (sample < set.samples) {
        scratch.load(row, *set.dataset, set.sampler.first_token(sample), rules);
      } else {
        scratch.clear(row);
      }
    }
    const model::LossSum loss = model.evaluate(stream, scratch.batch());
    total.sum += loss.sum;
    total.targets += loss.targets;
  }
  EvalMetrics metrics;
  metrics.set = set.name;
  metrics.loss = total.sum / static_cast<double>(total.targets);
  metrics.tokens = total.targets;
  return metrics;
}

}  // namespace convoy::train
