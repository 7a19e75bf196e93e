// SPDX-License-Identifier: Apache-2.0
// What a run says of itself before it trains.
#pragma once

#include <string>
#include <vector>

#include "libcore/train/prepare.h"

namespace convoy::train {

// `nodes`: of each rank; `memory`: Trainer::memory_summary().
void log_summary(const PreparedRun& run, const std::vector<std::string>& nodes, const std::string& memory);
void warn_about_unused(const config::OptimizerOptions& options);

}  // namespace convoy::train
