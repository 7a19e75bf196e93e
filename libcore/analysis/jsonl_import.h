// SPDX-License-Identifier: Apache-2.0
// Traces from rows of another program (jsonl_row.h), in any order.
//
// A step of a rank lasts from the begin of its first row to the end of its last. Each instant of it belongs to the row
// that began last of those that cover it, so that what is nested or overlaps is counted once and the phases sum to the
// step; an instant that no row covers is kOther. A call counts as communication of its group's kind, or of evaluation
// or checkpoint inside those; one that is `overlapped` is an event and no part of a phase. A group's members are the
// ranks whose rows name it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/analysis/jsonl_row.h"
#include "libcore/base/file.h"

namespace convoy::analysis {

struct ImportSummary {
  std::int64_t lines = 0, rows = 0;
  std::int64_t bad_rows = 0;            // left out, where that was asked for
  std::int64_t repeated_rows = 0;       // the same again: left out
  std::int64_t unknown_keys = 0;        // ignored
  std::int64_t empty_steps = 0;         // of a rank, without any duration: left out
  std::int64_t ranks = 0, steps = 0;    // written; steps over all ranks
  std::vector<std::string> complaints;  // of the first bad rows, each with its line
};

struct ImportedTrace {
  trace::Header header;
  std::vector<trace::StepRecord> steps;
  std::vector<trace::Event> events;
};

class JsonlImport {
 public:
  // `name` of what is read, for messages.
  JsonlImport(std::string name, bool skip_bad_rows) : name_(std::move(name)), skip_bad_rows_(skip_bad_rows) {}

  // The next line. DataError if it is no row or contradicts another, unless those are skipped.
  void add(std::string_view line);
  // After the last line: the trace of each rank, in order. DataError where the rows make no run. Once.
  void finish(const std::function<void(const ImportedTrace&)>& visit);

  const ImportSummary& summary() const { return summary_; }

 private:
  struct Row {
    std::uint64_t start_ns, duration_ns, bytes;
    std::int64_t line;
    std::uint32_t step, sequence;
    int group, peer;  // indices; -1: none
    trace::Phase phase;
    trace::Operation operation;
    bool is_collective, overlapped;
  };
  struct Rank {
    std::string host;
    int coordinates[3] = {-1, -1, -1};  // tensor, pipeline, data; -1: not said
    std::int64_t said_at[3] = {};       // lines
    std::int64_t host_said_at = 0;
    int group_of_kind[4] = {-1, -1, -1, -1};  // world, tensor, pipeline, data
    std::vector<Row> rows;
  };
  struct NamedGroup {
    trace::GroupKind kind;
    std::string name;
    std::vector<int> members;
  };

  std::string settle(const JsonlRow& row, Rank& rank) const;
  std::string settle_group(const JsonlRow& row, Rank& rank);
  void complain(std::int64_t line, const std::string& why);
  trace::Header layout();
  trace::Header header_of(trace::Header run, int number, const Rank& rank) const;
  void sort_rows(Rank& rank);
  void refuse_repeated_calls(Rank& rank);
  void resolve_peers(int number, Rank& rank);
  void build(const trace::Header& run, int number, Rank& rank, ImportedTrace& trace);
  void build_step(const Rank& rank, std::span<const Row> rows, ImportedTrace& trace);
  trace::Event event_of(const Rank& rank, const Row& row, trace::Phase inside) const;

  std::string name_;
  bool skip_bad_rows_;
  bool has_coordinates_ = false;
  int micro_batches_ = 1;  // of a step, by the rows of forward
  ImportSummary summary_;
  std::map<int, Rank> ranks_;
  std::vector<NamedGroup> groups_;
  std::map<std::string, int, std::less<>> group_of_name_;
};

// Reads `file` and writes `run`/traces, which appears as a whole. DataError as above, EnvironmentError if `run` has
// traces already.
ImportSummary import_jsonl(const Path& file, const Path& run, bool skip_bad_rows);

}  // namespace convoy::analysis
