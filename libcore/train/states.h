// SPDX-License-Identifier: Apache-2.0
// A run's states as checkpoints keep them: which boxes of which tensors this rank stores, and how any layout reads them
// back. Every replica stores a share, whether or not the optimizer is sharded, so that all of them write.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/checkpoint/checkpoint.h"
#include "libcore/checkpoint/save.h"
#include "libcore/model/parameters.h"
#include "libcore/optim/adamw.h"
#include "libcore/parallel/groups.h"

namespace convoy::train {

// The flat range of a parameter of `count` local elements that replica `at.data` stores.
parallel::Range stored_share(std::int64_t count, const parallel::Groups& groups);

// Views of the masters and both moments, of primary parameters alone.
std::vector<checkpoint::LocalState> local_states(const model::Parameters& parameters, const optim::AdamW& optimizer,
                                                 const parallel::Groups& groups);

// Fills the masters and moments of this rank's shares from a checkpoint, whatever layout wrote it, and publishes the
// masters to the shares of the compute weights.
void load_states(device::Stream& stream, const checkpoint::Checkpoint& checkpoint, const model::Parameters& parameters,
                 optim::AdamW& optimizer);

// lm_head.weight where it is the embedding.
std::vector<std::pair<std::string, std::string>> aliases_of(const model::Config& config);

// Every parameter of the model must be there with its shape and its three states, and nothing else: a DataError names
// the first that is not.
void expect_model(const checkpoint::Checkpoint& checkpoint, const model::Config& config);

}  // namespace convoy::train
