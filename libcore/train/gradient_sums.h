// SPDX-License-Identifier: Apache-2.0
// Which sums a step's gradients take part in, and in what order: over the micro-batches and replicas, over the
// tensor-parallel ranks that have terms of the same tensor, over the pipeline's ends that hold a tied embedding.
#pragma once

#include <cstddef>
#include <vector>

#include "libcore/train/step.h"

namespace convoy::train {

// Indices of the tied embedding's copies that the pipeline cuts apart: their gradients are summed first.
std::vector<std::size_t> tied_ends(const model::Parameters& parameters);

// The whole gradients that PartialSums adds up; with a tree this rank's shares of them, because the sums over the
// replicas come first.
std::vector<parallel::PartialGradient> as_summed(std::vector<parallel::PartialGradient> whole,
                                                 const parallel::DataParallel& data_parallel, bool in_tree);

// Gradients of parameters that were computed to their end, for the step or (reduces_each()) for a micro-batch: sums in
// rank order may begin, or the tree gets a leaf.
void take_gradients(const StepContext& context, const std::vector<std::size_t>& tied, std::size_t begin,
                    std::size_t end);

// After the last micro-batch: what is left to be summed. Each share of a gradient is then the sum over all of them.
void finish_sums(const StepContext& context, const std::vector<std::size_t>& tied);

}  // namespace convoy::train
