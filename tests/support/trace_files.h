// SPDX-License-Identifier: Apache-2.0
// Whole trace files in memory, for tests that look at what was recorded.
#pragma once

#include <vector>

#include "libcore/trace/trace_reader.h"

namespace convoy::support {

struct TraceContent {
  trace::Header header;
  std::vector<trace::StepRecord> steps;
  std::vector<trace::Event> events;
  trace::Damage damage;
};

// From where the reader stands.
inline TraceContent read_trace(trace::TraceReader& reader) {
  TraceContent content{reader.header(), {}, {}, {}};
  std::vector<trace::StepRecord> steps;
  std::vector<trace::Event> events;
  while (reader.next(steps, events)) {
    content.steps.insert(content.steps.end(), steps.begin(), steps.end());
    content.events.insert(content.events.end(), events.begin(), events.end());
  }
  content.damage = reader.damage();
  return content;
}

inline TraceContent read_trace(const Path& file) {
  trace::TraceReader reader(file);
  return read_trace(reader);
}

inline TraceContent read_trace(const Path& folder, int rank, int attempt = 1) {
  return read_trace(folder / trace::trace_file_name(rank, attempt));
}

}  // namespace convoy::support
