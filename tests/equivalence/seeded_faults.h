// SPDX-License-Identifier: Apache-2.0
// Mistakes that users of other trainers have met, made on purpose on the ranks of a layout: the matrix must see each.
#pragma once

#include <string>
#include <vector>

#include "libcore/train/check_layout.h"

namespace convoy::equivalence {

// drop-tied-sum: the two copies of a tied embedding that the pipeline cuts apart keep their own parts of its gradient.
// double-count-replicated: gradients that every tensor-parallel rank has whole are summed over these ranks.
// skip-partial-sums: gradients of which every tensor-parallel rank has a term are not.
// average-of-averages: every replica divides by its own number of targets, as if all had as many.
// shift-learning-rate: every update takes the rate of the next one.
std::vector<std::string> fault_names();

// InternalError for another name.
void seed_fault(const std::string& name, train::CheckSettings& settings);

}  // namespace convoy::equivalence
