// SPDX-License-Identifier: Apache-2.0
// What every rank of a job must have been given alike: configuration, model, data and version. Ranks that differ, from
// a file or a program that is another on one node, would train what none of them was asked for, or wait for ever.
#pragma once

#include <string>

#include "libcore/train/prepare.h"

namespace convoy::train {

// A line a setting, KEY = VALUE. Threads are a rank's own.
std::string job_settings(const PreparedRun& run, const std::string& resolved_config);

// Throws ConfigError with every setting of `mine` that is not that of rank 0, and both values.
void expect_settings_of_root(const std::string& root, const std::string& mine);

}  // namespace convoy::train
