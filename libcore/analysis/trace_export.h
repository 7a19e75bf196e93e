// SPDX-License-Identifier: Apache-2.0
// Traces in the forms of other programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/analysis/trace_set.h"

namespace convoy::analysis {

struct ExportOptions {
  StepRange range = {};
  std::vector<int> ranks = {};  // sorted; empty: all
  std::uint64_t most_bytes = UINT64_MAX;
};

struct ExportSummary {
  std::uint64_t bytes = 0;
  std::int64_t steps = 0, events = 0;  // written; steps over all ranks
  std::int64_t left_out = 0;           // steps and events beyond most_bytes
  bool clocks_are_aligned = true;      // by the hosts' real-time clocks; else each rank begins at its own zero
};

using Sink = std::function<void(std::string_view)>;

// The JSON of chrome://tracing, which Perfetto opens: a process a rank, with a thread for the training thread's steps
// and events and one for overlapped communication. Host names may hold anything. What would exceed most_bytes is left
// out, whole ranks last; the document is valid all the same.
ExportSummary export_chrome(const TraceSet& traces, const ExportOptions& options, const Sink& sink);

// A row a step and rank with all phases, by step, then rank. Of texts that hold quotes, commas or line ends the fields
// are quoted (RFC 4180).
ExportSummary export_csv(const TraceSet& traces, const ExportOptions& options, const Sink& sink);

}  // namespace convoy::analysis
