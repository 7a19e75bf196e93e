// SPDX-License-Identifier: Apache-2.0
// Whether the traces of a run are whole and agree with themselves and with each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/trace/format.h"
#include "libcore/trace/trace_reader.h"

namespace convoy::analysis {

struct CheckedFile {
  std::string name;
  bool is_readable = false;  // its header; all below is nothing without
  trace::Header header;
  std::int64_t first_step = 0, last_step = -1, steps = 0, events = 0;
  trace::Damage damage;
  std::vector<std::string> problems;  // a clause each
};

struct TraceCheck {
  std::vector<CheckedFile> files;
  std::vector<std::string> problems;  // of the run: missing ranks, files that contradict each other
  std::vector<std::string> notes;     // what is no fault: attempts that repeat steps
  bool is_sound() const;
};

// Reads every trace of the run, payloads and all. ConfigError if there is no folder, DataError if there is no trace.
//
// Of a file: the header; blocks that are torn or damaged; records that are not sound, such as phases that do not sum to
// their step; steps that lack, are there twice or go back; a clock that goes back; holes in the sequences of a group's
// calls between steps that follow each other. Of an attempt: ranks without a file, two files of a rank, other layouts,
// ranks that begin later or end earlier than others by more than the one step in which a run is killed.
TraceCheck check_traces(const Path& run);

}  // namespace convoy::analysis
