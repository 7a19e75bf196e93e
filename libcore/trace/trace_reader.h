// SPDX-License-Identifier: Apache-2.0
// Reads a trace file that may have been cut at any byte, be damaged anywhere, or grow while it is read: sound blocks
// are used, the others counted. A reader keeps no more than a block in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/trace/format.h"

namespace convoy::trace {

// What a file could not give.
struct Damage {
  std::uint64_t blocks = 0;   // whose CRC, magic or size is wrong, and those in which a record is (record_check.h)
  std::uint64_t bytes = 0;    // of those blocks in the file; where only records are wrong, of these
  std::uint64_t records = 0;  // left out under a right CRC ..
  std::string_view problem;   // .. because of this, the first one; a literal
  bool any() const { return blocks > 0; }
};

class TraceReader {
 public:
  // DataError if the header cannot be read; EnvironmentError if the file cannot.
  explicit TraceReader(const Path& file);
  ~TraceReader();
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;

  const Header& header() const;
  // Puts the next sound block's records into `steps` or `events` (replacing both); false at the end. Several rounds
  // need rewind().
  bool next(std::vector<StepRecord>& steps, std::vector<Event>& events);
  // As next(), but only blocks of step records: the others' payloads are not read, and so their CRC is not checked.
  bool next_steps(std::vector<StepRecord>& steps);
  void rewind();
  // Of the blocks that have been passed since the last rewind().
  const Damage& damage() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The flight ring beside a trace: its events, oldest first. An absent ring gives none; a damaged slot is left out and
// counted.
struct RingEvents {
  std::vector<Event> events;      // of the steps in it that are whole, all complete
  std::vector<Event> unfinished;  // of the step that was under way; those without kComplete were too
  std::uint64_t torn = 0;
};
RingEvents read_ring(const Path& file);

}  // namespace convoy::trace
