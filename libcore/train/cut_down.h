// SPDX-License-Identifier: Apache-2.0
// A copy of a run that is small enough to train on a few threads and large enough for its layout to do everything it
// does in the large: layers on every stage, uneven cuts, several micro-batches. Pure.
#pragma once

#include <cstdint>

#include "libcore/model/config.h"
#include "libcore/model/recompute.h"
#include "libcore/parallel/mesh.h"

namespace convoy::train {

struct SmallRun {
  model::Config model;
  parallel::Layout layout;
  std::int64_t sequence_length = 0;
  std::int64_t micro_batch = 0;                          // sequences
  std::int64_t micro_batches = 0;                        // a step and replica
  model::Recompute recompute = model::Recompute::kNone;  // of the layout: one rank keeps everything
};

// `layout` is legal for `model`. Every kind of the model's (architecture, tied or not, biases, grouped key/value heads,
// rotary scaling) is kept; widths, layers, vocabulary and batches are not. Vocabulary and ffn width become odd.
SmallRun cut_down(const model::Config& model, const parallel::Layout& layout, std::int64_t sequence_length,
                  std::int64_t micro_batch, std::int64_t micro_batches);

}  // namespace convoy::train
