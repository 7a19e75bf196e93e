// SPDX-License-Identifier: Apache-2.0
// Whether the disk holds what a run will write.
#pragma once

#include <cstdint>

#include "libcore/train/prepare.h"
#include "libcore/train/run_directory.h"

namespace convoy::train {

// How many checkpoints of a run that goes on after `step` lie on the disk at one time, the one that is being written
// included; those that are there already do not count. Pure.
std::int64_t checkpoints_to_come(const config::Resolved& resolved, const config::OutputOptions& output,
                                 std::int64_t step);

// EnvironmentError with the bytes needed and free if the checkpoints to come do not fit.
void refuse_without_space(const PreparedRun& run, const RunDirectory& directory, std::int64_t step);

}  // namespace convoy::train
