// SPDX-License-Identifier: Apache-2.0
// The files that a run of a layout writes. Which rank stores what is asked of the model's table and of the partition
// that the trainer uses, never decided here.
#pragma once

#include <vector>

#include "libcore/app/options.h"
#include "libcore/checkpoint/reshard.h"
#include "libcore/model/config.h"

namespace convoy::apps::ckpt {

struct LayoutArguments {
  int tensor = 1, pipeline = 1, virtual_stages = 1, zero_shards = 1;

  checkpoint::StoredLayout stored() const { return {tensor, pipeline, zero_shards}; }
};

std::vector<app::Option> layout_options(LayoutArguments& layout);

// ConfigError with every reason why no run of this model has the layout.
void check_layout(const LayoutArguments& layout, const model::Config& config);

// A file a rank, in rank order, with the boxes of the inventory's tensors that the rank stores.
std::vector<checkpoint::PlannedFile> files_of(const LayoutArguments& layout, const model::Config& config,
                                              const checkpoint::Manifest& inventory);

}  // namespace convoy::apps::ckpt
