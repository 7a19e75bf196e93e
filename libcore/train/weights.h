// SPDX-License-Identifier: Apache-2.0
// The fp32 weights of a run: where they start from, and how they go to disk as a Hugging Face folder.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/checkpoint/hf_folder.h"
#include "libcore/model/parameters.h"
#include "libcore/optim/adamw.h"

namespace convoy::train {

// What a folder of this model must hold.
std::vector<checkpoint::ExpectedTensor> expected_tensors(const std::vector<model::Parameter>& table);

// Fills the masters with the initial values of `seed`, or from a folder, and publishes them to the compute weights.
// A value of the folder that is not finite is a DataError with its place: every step would be skipped.
void initialise(device::Stream& stream, const model::Parameters& parameters, std::uint64_t seed,
                optim::AdamW& optimizer);
void load(device::Stream& stream, const model::Parameters& parameters, const checkpoint::HfFolder& folder,
          optim::AdamW& optimizer);

// Commits `folder` with config.json and the fp32 masters. It must not exist; its parent is created.
void save(const Path& folder, const model::Config& config, const model::Parameters& parameters,
          const optim::AdamW& optimizer);

// Writes the gradients as they are, fp32 under Hugging Face's names, the tied tensor once.
void dump_gradients(const Path& file, const model::Parameters& parameters);

// Parameters by whether weight decay applies: for the summary at the start.
struct DecayGroups {
  std::int64_t decayed_tensors = 0, decayed_parameters = 0;
  std::int64_t other_tensors = 0, other_parameters = 0;
};
DecayGroups decay_groups(const std::vector<model::Parameter>& table);

}  // namespace convoy::train
