// SPDX-License-Identifier: Apache-2.0
// Where the traces of a run are.
#pragma once

#include <vector>

#include "libcore/base/file.h"

namespace convoy::analysis {

// The files *.trace in RUN/traces, or in the folder itself where it has no such folder, by name. ConfigError if there
// is no folder, DataError if there is no trace.
std::vector<Path> trace_files_below(const Path& run);

}  // namespace convoy::analysis
