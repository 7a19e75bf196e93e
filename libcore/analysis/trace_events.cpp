// SPDX-License-Identifier: Apache-2.0
// The events of a trace: of its windows, and of the flight ring beside it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

#include "libcore/analysis/trace_set.h"
#include "libcore/trace/record_check.h"
#include "libcore/trace/trace_reader.h"

namespace convoy::analysis {
namespace {

Path ring_of(const TraceFile& file) {
  return file.path.parent_path() / trace::ring_file_name(file.header.rank, file.header.attempt);
}

}  // namespace

std::string why_no_ring(const TraceFile& file) {
  const Path ring = ring_of(file);
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(ring, error);
  if (!std::filesystem::exists(status)) return "";
  const std::string name = ring.filename().string();
  if (!std::filesystem::is_regular_file(status)) return name + " is not a regular file";
  if (::access(ring.c_str(), R_OK) != 0) return fmt::format("{}: {}", name, std::strerror(errno));
  return "";
}

// A ring has no checksum over its events, and may have been copied from another run.
std::vector<trace::Event> TraceSet::events(const TraceFile& file, const StepRange& range) const {
  const auto wanted = [&](const trace::Event& event) {
    return event.step >= range.first && static_cast<std::int64_t>(event.step) <= range.last;
  };
  std::vector<trace::Event> result;
  std::set<std::uint32_t> steps_of_window;
  trace::TraceReader reader(file.path);
  std::vector<trace::StepRecord> steps;
  std::vector<trace::Event> events;
  while (reader.next(steps, events)) {
    for (const trace::Event& event : events) {
      if (!wanted(event)) continue;
      if (result.empty() || result.back().step != event.step) steps_of_window.insert(event.step);
      result.push_back(event);
    }
  }
  const auto is_of_this_trace = [&file](const trace::Event& event) { return problem_of(event, file.header).empty(); };
  if (why_no_ring(file).empty()) {
    for (const trace::Event& event : trace::read_ring(ring_of(file)).events)
      if (wanted(event) && !steps_of_window.contains(event.step) && is_of_this_trace(event)) result.push_back(event);
  }
  std::ranges::stable_sort(result, [](const trace::Event& a, const trace::Event& b) {
    return std::pair(a.step, a.start_ns) < std::pair(b.step, b.start_ns);
  });
  return result;
}

}  // namespace convoy::analysis
