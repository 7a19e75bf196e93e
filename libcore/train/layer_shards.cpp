// SPDX-License-Identifier: Apache-2.0
#include "libcore/train/layer_shards.h"

#include <algorithm>

#include "libcore/train/gradient_sums.h"

namespace convoy::train {

parallel::Sharding sharding_of(const parallel::Groups& groups, bool in_tree) {
  parallel::Sharding sharding = parallel::sharding_of(groups.layout.zero, groups.layout.data, groups.at.data);
  if (in_tree) sharding.gradients = false;
  return sharding;
}

parallel::DataParallelOptions reduction_of(int zero, bool overlap, std::size_t bucket_bytes,
                                           parallel::GradientTree* tree, trace::Recorder* recorder) {
  // Under ZeRO 3 the replicas exchange weights until the last pass is over, and only then the nodes of a tree.
  return {.zero = std::min(1, zero),
          .tree = tree,
          .bucket_bytes = bucket_bytes,
          .overlap = overlap && (tree == nullptr || zero < 3),
          .recorder = recorder};
}

std::unique_ptr<parallel::LayerShards> share_layers(const parallel::Groups& groups, const model::Parameters& parameters,
                                                    const parallel::DataParallelOptions& options, model::Model& model) {
  const parallel::Sharding& sharding = parameters.sharding();
  if (!sharding.gradients && !sharding.weights) return nullptr;
  auto shards = std::make_unique<parallel::LayerShards>(*groups.data, model::sharded_tensors(parameters), options);
  parallel::LayerShards* all = shards.get();
  model.set_hooks({.weights_needed = [all](std::size_t index, std::size_t next) { all->weights_needed(index, next); },
                   .gradients_needed = [all](std::size_t index) { all->gradients_needed(index); }});
  return shards;
}

std::vector<tensor::MutableView> gradients_to_sum(const model::Parameters& parameters) {
  std::vector<tensor::MutableView> gradients;
  if (parameters.sharding().gradients) return gradients;
  for (std::size_t i = 0; i < parameters.size(); ++i) gradients.push_back(parameters.gradient(i));
  return gradients;
}

std::vector<std::size_t> summed_alone(const model::Parameters& parameters) {
  return parameters.sharding().gradients ? std::vector<std::size_t>{} : tied_ends(parameters);
}

}  // namespace convoy::train
