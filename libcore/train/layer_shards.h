// SPDX-License-Identifier: Apache-2.0
// Joins a model to the exchange of its parameters between the replicas.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "libcore/model/model.h"
#include "libcore/parallel/groups.h"
#include "libcore/parallel/layer_shards.h"

namespace convoy::train {

// What the replicas share. With --reduction tree gradients stay whole, as under ZeRO 1.
parallel::Sharding sharding_of(const parallel::Groups& groups, bool in_tree);

// What DataParallel does at the end of a step. `tree`, `recorder`: null where there is none.
parallel::DataParallelOptions reduction_of(int zero, bool overlap, std::size_t bucket_bytes,
                                           parallel::GradientTree* tree, trace::Recorder* recorder);

// Null where optimizer states alone are shared, and on one replica. `model` is of these parameters, and tells the
// result what it needs: both are outlived by the model's last pass.
std::unique_ptr<parallel::LayerShards> share_layers(const parallel::Groups& groups, const model::Parameters& parameters,
                                                    const parallel::DataParallelOptions& options, model::Model& model);

// What DataParallel sums at the end of a step, and the indices of what it sums alone (tied_ends()): nothing where
// LayerShards does it for every micro-batch.
std::vector<tensor::MutableView> gradients_to_sum(const model::Parameters& parameters);
std::vector<std::size_t> summed_alone(const model::Parameters& parameters);

}  // namespace convoy::train
