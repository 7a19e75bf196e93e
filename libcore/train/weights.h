// SPDX-License-Identifier: Apache-2.0
// The fp32 weights of a run: where they start from.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "libcore/checkpoint/weight_source.h"
#include "libcore/model/parameters.h"
#include "libcore/optim/adamw.h"

namespace convoy::train {

// Of the weights that products read: "fp32", "bf16", "fp16".
tensor::DType compute_dtype(std::string_view precision);

// Fills the masters of this rank's shares with the initial values of `seed`, or from weights that were opened for this
// model, and publishes them to the compute weights. A value that is not finite is a DataError with its place: every
// step would be skipped.
void initialise(device::Stream& stream, const model::Parameters& parameters, std::uint64_t seed,
                optim::AdamW& optimizer);
void load(device::Stream& stream, const model::Parameters& parameters, const checkpoint::WeightSource& source,
          optim::AdamW& optimizer);

// Parameters by whether weight decay applies: for the summary at the start.
struct DecayGroups {
  std::int64_t decayed_tensors = 0, decayed_parameters = 0;
  std::int64_t other_tensors = 0, other_parameters = 0;
};
DecayGroups decay_groups(const std::vector<model::Parameter>& table);

}  // namespace convoy::train
