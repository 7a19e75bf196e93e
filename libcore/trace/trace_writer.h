// SPDX-License-Identifier: Apache-2.0
// Writes a trace file (format.h), record by record, so that whatever kills the process leaves all that append() has
// written. For the recorder, the synthesizer and the importer.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "libcore/base/file.h"
#include "libcore/trace/format.h"

namespace convoy::trace {

class TraceWriter {
 public:
  // EnvironmentError if the file cannot be created; one that exists is replaced. DataError if no reader would take the
  // header.
  TraceWriter(const Path& file, const Header& header);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // EnvironmentError if the file cannot be written. Records are not checked (record_check.h): a reader leaves out those
  // that are not sound.
  void append(std::span<const StepRecord> steps);
  void append(std::span<const Event> events);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace convoy::trace
