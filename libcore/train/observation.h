// SPDX-License-Identifier: Apache-2.0
// What a run tells the profiler: each rank's trace in RUN/traces.
#pragma once

#include "libcore/config/validate.h"
#include "libcore/trace/recorder.h"
#include "libcore/train/prepare.h"
#include "libcore/train/run_directory.h"

namespace convoy::train {

// By one rank, before any records. A folder that cannot be made costs the traces, with a warning, never the run.
void make_traces_folder(const RunDirectory& directory) noexcept;

// What the trace of rank `rank` says of the run and of the rank's place in it.
trace::Header trace_header(const PreparedRun& run, const RunDirectory& directory, const Identity& identity, int rank,
                           int attempt);

trace::RecorderOptions recorder_options(const config::Resolved& run, const RunDirectory& directory);

}  // namespace convoy::train
