// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/gradient_sums.h"

namespace convoy::train {
namespace {

using tensor::MutableView;

// Reports the gradients [begin, end) as final, but for the tied ones.
void report(parallel::DataParallel& data_parallel, const std::vector<std::size_t>& tied, std::size_t begin,
            std::size_t end) {
  for (const std::size_t index : tied) {
    if (index < begin || index >= end) continue;
    if (index > begin) data_parallel.ready(begin, index);
    begin = index + 1;
  }
  if (begin < end) data_parallel.ready(begin, end);
}

MutableView share_of(const MutableView& gradient, const parallel::Range& share) {
  return tensor::flat_part(gradient, share.begin, share.end);
}

}  // namespace

std::vector<std::size_t> tied_ends(const model::Parameters& parameters) {
  std::vector<std::size_t> tied;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters.table()[i].tied_end) tied.push_back(i);
  }
  return tied;
}

std::vector<parallel::PartialGradient> as_summed(std::vector<parallel::PartialGradient> whole,
                                                 const parallel::DataParallel& data_parallel, bool in_tree) {
  if (!in_tree) return whole;
  for (parallel::PartialGradient& one : whole)
    one.gradient = share_of(one.gradient, data_parallel.share(one.parameter));
  return whole;
}

void take_gradients(const StepContext& context, const std::vector<std::size_t>& tied, std::size_t begin,
                    std::size_t end) {
  if (context.tree != nullptr) {
    if (context.tree->add_leaf(context.stream, begin, end)) context.data_parallel.ready(begin, end);
    return;
  }
  context.partial_sums.sum(context.stream, begin, end);
  if (context.reduces_each()) {
    context.shards->ready(begin, end);
  } else {
    report(context.data_parallel, tied, begin, end);
  }
}

void finish_sums(const StepContext& context, const std::vector<std::size_t>& tied) {
  const auto over_ends = [&](const MutableView& gradient) {
    context.groups.pipeline_ends->all_reduce(context.stream, gradient, comm::Reduction::kSum);
  };
  if (!context.reduces_each()) {
    for (const std::size_t index : tied) {
      over_ends(context.parameters.gradient(index));
      context.data_parallel.ready(index, index + 1);
    }
    context.data_parallel.finish(context.stream);
    return;
  }
  // Each end has the sums of its share, which is the same part of the tensor on both.
  if (context.shards != nullptr) context.shards->finish();
  context.data_parallel.finish(context.stream);
  if (context.tree != nullptr) context.partial_sums.sum(context.stream, 0, context.parameters.size());
  for (const std::size_t index : tied) {
    const MutableView share = context.parameters.gradient_part(index, context.parameters.share(index));
    if (share.count() > 0) over_ends(share);
  }
}

}  // namespace convoy::train
