// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/evaluate.h"

#include <array>

#include "libcore/parallel/pipeline.h"
#include "libcore/train/stages.h"

namespace convoy::train {
namespace {

// Rows of micro-batch `index` of the windows `mine`.
void load(const EvaluationSet& set, const parallel::Range& mine, std::int64_t index, const SampleRules& rules,
          MicroBatch& scratch) {
  for (std::int64_t row = 0; row < scratch.rows(); ++row) {
    const std::int64_t sample = mine.begin + index * scratch.rows() + row;
    if (sample < mine.end) {
      scratch.load(row, *set.dataset, set.sampler.first_token(sample), rules);
    } else {
      scratch.clear(row);
    }
  }
}

model::LossSum run_whole(device::Stream& stream, model::Model& model, std::int64_t micro_batches,
                         const EvaluationStage::Load& batch) {
  model::LossSum total;
  for (std::int64_t i = 0; i < micro_batches; ++i) total += model.evaluate(stream, batch(static_cast<int>(i)));
  return total;
}

model::LossSum run_stages(device::Stream& stream, model::Model& model, const parallel::Groups& groups,
                          std::int64_t micro_batches, const EvaluationStage::Load& batch) {
  if (micro_batches == 0) return {};
  EvaluationStage stage(stream, model, batch);
  const parallel::Layout& layout = groups.layout;
  const auto actions = parallel::forward_schedule(layout.pipeline, static_cast<int>(micro_batches), groups.at.pipeline,
                                                  layout.virtual_stages);
  parallel::execute(stream, actions, stage, *groups.pipeline);
  return stage.loss();
}

}  // namespace

EvalMetrics evaluate(device::Stream& stream, model::Model& model, const parallel::Groups& groups,
                     const EvaluationSet& set, const SampleRules& rules, MicroBatch& scratch) {
  const parallel::Range mine = parallel::partition(set.samples, groups.layout.data, groups.at.data);
  const std::int64_t micro_batches = (mine.size() + scratch.rows() - 1) / scratch.rows();
  const EvaluationStage::Load batch = [&](int index) {
    load(set, mine, index, rules, scratch);
    return scratch.batch();
  };
  const model::LossSum loss = groups.layout.pipeline == 1 ? run_whole(stream, model, micro_batches, batch)
                                                          : run_stages(stream, model, groups, micro_batches, batch);
  const bool counts = groups.last_stage() && groups.at.tensor == 0;
  std::array<double, 2> sums = {counts ? loss.sum : 0.0, counts ? static_cast<double>(loss.targets) : 0.0};
  groups.world->all_reduce(stream, {sums.data(), tensor::DType::kF64, {2}, 0}, comm::Reduction::kSum);
  EvalMetrics metrics;
  metrics.set = set.name;
  metrics.loss = sums[0] / sums[1];
  metrics.tokens = static_cast<std::int64_t>(sums[1]);
  return metrics;
}

}  // namespace convoy::train
