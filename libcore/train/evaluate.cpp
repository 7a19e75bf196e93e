// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/evaluate.h"

#include <algorithm>
#include <array>

#include "libcore/parallel/pipeline.h"
#include "libcore/train/stages.h"

namespace convoy::train {
namespace {

// Rows of micro-batch `index` of the set.
void load(const EvaluationSet& set, std::int64_t index, const SampleRules& rules, MicroBatch& scratch) {
  for (std::int64_t row = 0; row < scratch.rows(); ++row) {
    const std::int64_t sample = index * scratch.rows() + row;
    if (sample < set.samples) {
      scratch.load(row, *set.dataset, set.sampler.first_token(sample), rules);
    } else {
      scratch.clear(row);
    }
  }
}

EvaluationLoss run_whole(device::Stream& stream, model::Model& model, std::int64_t micro_batches,
                         const EvaluationStage::Load& batch) {
  EvaluationLoss total;
  for (std::int64_t i = 0; i < micro_batches; ++i) total.add(model.evaluate(stream, batch(static_cast<int>(i))));
  return total;
}

EvaluationLoss run_stages(device::Stream& stream, model::Model& model, const parallel::Groups& groups,
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
  const std::int64_t all = (set.samples + scratch.rows() - 1) / scratch.rows();
  const parallel::Range mine = parallel::partition(all, groups.layout.data, groups.at.data);
  // As many as the first replica, which has most: under ZeRO 3 all pass through the model side by side. What is beyond
  // a replica's own is empty.
  const std::int64_t micro_batches = parallel::partition(all, groups.layout.data, 0).size();
  const EvaluationStage::Load batch = [&](int index) {
    load(set, index < mine.size() ? mine.begin + index : all, rules, scratch);
    return scratch.batch();
  };
  EvaluationLoss loss = groups.layout.pipeline == 1 ? run_whole(stream, model, micro_batches, batch)
                                                    : run_stages(stream, model, groups, micro_batches, batch);
  const bool counts = groups.last_stage() && groups.at.tensor == 0;
  if (!counts) loss = {};
  std::array<std::int64_t, ExactSum::kWords + 1> sums{};
  std::ranges::copy(loss.sum.words(), sums.begin());
  sums.back() = loss.targets;
  groups.world->all_reduce(stream, {sums.data(), tensor::DType::kI64, {sums.size()}, 0}, comm::Reduction::kSum);
  std::copy_n(sums.begin(), ExactSum::kWords, loss.sum.words().begin());
  EvalMetrics metrics;
  metrics.set = set.name;
  metrics.loss = loss.sum.value() / static_cast<double>(sums.back());
  metrics.tokens = sums.back();
  return metrics;
}

}  // namespace convoy::train
