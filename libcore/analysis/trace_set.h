// SPDX-License-Identifier: Apache-2.0
// All traces of a run, aligned by step number: of a step that several attempts have recorded, the latest counts. Ranks
// may be missing, begin late, end early; what could not be used is listed, never guessed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libcore/base/file.h"
#include "libcore/trace/format.h"

namespace convoy::analysis {

struct StepRange {
  std::int64_t first = 1, last = INT64_MAX;
};

// One rank's file of one attempt.
struct TraceFile {
  Path path;
  trace::Header header;
  std::int64_t first_step = 0, last_step = -1;  // recorded; none: last < first
  std::int64_t steps = 0;                       // how many records
  std::int64_t begin = 0, end = 0;              // first and last step recorded at all, asked for or not; 0: none
};

// Why the flight ring beside it, if there is one, cannot be read; else empty.
std::string why_no_ring(const TraceFile& file);

// A stretch of steps that one attempt recorded last, with one world and layout. Its ranks are comparable.
struct Segment {
  std::int64_t first_step = 0, last_step = -1;
  int attempt = 1;
  bool begins_attempt = false;    // first_step is the first that the attempt recorded: it warms up there
  trace::Header header;           // of any rank: what is the same on all
  std::vector<int> file_of_rank;  // [world]: index into files(), -1 where the rank's trace is missing
};

class TraceSet {
 public:
  // Finds the traces by their headers, below RUN/traces or in the folder itself. DataError if there is none that can be
  // read.
  static TraceSet open(const Path& run, const StepRange& range = {});

  const std::vector<TraceFile>& files() const { return files_; }
  // In the order of their steps, which do not overlap.
  const std::vector<Segment>& segments() const { return segments_; }
  // What is missing, torn or doubtful, one sentence each: "rank 3: no trace", "rank 5: 41 of 100 steps, 13112 bytes
  // at the end unreadable".
  const std::vector<std::string>& incomplete() const { return incomplete_; }

  // Streams a segment in stretches of steps: for each, records[rank][i] is step `first + i` of that rank, with
  // duration_ns 0 where it has none. A rank without a trace has no records at all: a header may claim a million ranks.
  // Holds one stretch in memory.
  struct Stretch {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::vector<std::size_t> ranks;                       // that have a trace, ascending
    std::vector<std::vector<trace::StepRecord>> records;  // [world]
  };
  void for_each_stretch(const Segment& segment, const std::function<void(const Stretch&)>& visit) const;
  // Every event of one file, from its windows and its ring (those of the ring that no window has), in order of step and
  // start, `range` alone. Groups and peers are those of the file's header; a ring that cannot be read gives none.
  std::vector<trace::Event> events(const TraceFile& file, const StepRange& range) const;

 private:
  void make_segments();
  Segment segment_of(int attempt, const std::vector<int>& members);
  void say_what_lacks(const Segment& segment);

  std::vector<TraceFile> files_;
  std::vector<Segment> segments_;
  std::vector<std::string> incomplete_;
};

}  // namespace convoy::analysis
