// SPDX-License-Identifier: Apache-2.0
// Where a run starts: at the beginning, at its own newest checkpoint, or at another run's.
#pragma once

#include <cstdint>
#include <string>

#include "libcore/base/file.h"
#include "libcore/config/run_options.h"
#include "libcore/train/run_directory.h"

namespace convoy::train {

enum class StartKind { kAnew, kResume, kFinished };

struct Start {
  StartKind kind = StartKind::kAnew;
  Path checkpoint;     // a step directory; of the run itself, or of another one
  bool again = false;  // the directory holds an earlier attempt of this run
  int attempt = 1;     // of the run, from 1, as run.json lists them
};

// Rank 0 decides, holding the directory. EnvironmentError if the directory holds what must not be written over,
// DataError if --resume require finds nothing or none of the run's checkpoints is sound.
Start decide_start(const RunDirectory& directory, const config::ResumeOptions& options, std::int64_t steps);

// Rank 0 alone. The run's newest sound checkpoint before `damaged`, one of its own, whose tensors turned out not to be whole when they
// were read (`why`), which a warning tells. DataError with `why` if there is none. Nothing is removed.
Path checkpoint_before(const RunDirectory& directory, const Path& damaged, const std::string& why);

// As text, for the other ranks.
std::string to_text(const Start& start);
Start start_of(const std::string& text);

// Moves rows of later steps than `step` from metrics.jsonl to metrics.discarded.jsonl: every step occurs once.
void discard_rows(const RunDirectory& directory, std::int64_t step);

}  // namespace convoy::train
