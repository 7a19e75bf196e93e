// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/trace_export.h"

#include <fmt/format.h>

#include <algorithm>

#include "libcore/analysis/display.h"
#include "libcore/base/json.h"

namespace convoy::analysis {
namespace {

using trace::Event;
using trace::Header;
using trace::Phase;
using trace::StepRecord;

constexpr int kTraining = 0, kOverlapped = 1;  // threads of the Chrome trace

bool is_wanted(const ExportOptions& options, std::size_t rank) {
  return options.ranks.empty() || std::ranges::binary_search(options.ranks, static_cast<int>(rank));
}

StepRange range_of(const Segment& segment, const StepRange& asked) {
  return {.first = std::max(segment.first_step, asked.first), .last = std::min(segment.last_step, asked.last)};
}

// Puts the hosts' monotonic clocks on one axis, by their real-time clocks where all headers have them.
class TimeAxis {
 public:
  explicit TimeAxis(const TraceSet& traces) {
    for (const TraceFile& file : traces.files()) {
      is_aligned_ = is_aligned_ && file.header.started_unix_ns > 0;
      zero_ = std::min(zero_, file.header.started_unix_ns);
    }
  }
  bool is_aligned() const { return is_aligned_; }

  // In us with three digits. Before a rank began is zero.
  std::string at(const Header& header, std::uint64_t monotonic_ns) const {
    const auto since_start = static_cast<std::int64_t>(monotonic_ns - header.started_monotonic_ns);
    const std::int64_t shift = is_aligned_ ? header.started_unix_ns - zero_ : 0;
    return length(static_cast<std::uint64_t>(std::max<std::int64_t>(0, since_start + shift)));
  }
  static std::string length(std::uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

 private:
  bool is_aligned_ = true;
  std::int64_t zero_ = INT64_MAX;
};

// Counts what goes out, and keeps back what is too much.
class Output {
 public:
  Output(const Sink& sink, std::uint64_t most_bytes) : sink_(sink), most_bytes_(most_bytes) {}

  void write(std::string_view text) {
    sink_(text);
    bytes_ += text.size();
  }
  bool try_write(std::string_view text) {
    is_full_ = is_full_ || bytes_ + text.size() > most_bytes_;
    if (!is_full_) write(text);
    return !is_full_;
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  const Sink& sink_;
  std::uint64_t most_bytes_, bytes_ = 0;
  bool is_full_ = false;
};

std::string flag_names(std::uint32_t flags) {
  std::string names;
  const auto add = [&](std::uint32_t flag, const char* name) {
    if ((flags & flag) != 0) names += fmt::format("{}{}", names.empty() ? "" : " ", name);
  };
  add(trace::kEvaluated, "evaluated");
  add(trace::kSaved, "saved");
  add(trace::kSkipped, "skipped");
  add(trace::kFirst, "first");
  add(trace::kStopping, "stopping");
  return names;
}

// --- Chrome

std::string metadata(int rank, int thread, const char* name, const std::string& args) {
  return fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{}}})", rank, thread, name, args);
}

std::string process_lines(const Header& header) {
  const std::string name = fmt::format("rank {}: tp {}, pp {}, dp {}, {}", header.rank, header.at.tensor,
                                       header.at.pipeline, header.at.data, printable(header.host));
  const auto named = [](const std::string& text) { return JsonObject().add("name", text).text(); };
  return fmt::format(
      ",\n{},\n{},\n{},\n{}", metadata(header.rank, kTraining, "process_name", named(name)),
      metadata(header.rank, kTraining, "process_sort_index", JsonObject().add("sort_index", header.rank).text()),
      metadata(header.rank, kTraining, "thread_name", named("training")),
      metadata(header.rank, kOverlapped, "thread_name", named("overlapped communication")));
}

std::string slice(const Header& header, int thread, std::string_view name, std::string_view category,
                  const std::string& start, std::uint64_t duration_ns, const std::string& args) {
  return fmt::format(R"({{"ph":"X","pid":{},"tid":{},"name":"{}","cat":"{}","ts":{},"dur":{},"args":{}}})", header.rank,
                     thread, name, category, start, TimeAxis::length(duration_ns), args);
}

std::string step_line(const Header& header, const TimeAxis& axis, const StepRecord& record) {
  JsonObject args;
  for (std::size_t phase = 0; phase < trace::kPhases; ++phase) {
    if (record.phases[phase].wall_ns == 0) continue;
    args.add(fmt::format("{}_ms", trace::name_of(static_cast<Phase>(phase))),
             static_cast<double>(record.phases[phase].wall_ns) * 1e-6);
  }
  std::uint64_t delay = 0;
  for (const trace::PhaseTime& phase : record.phases) delay += phase.delay_ns;
  args.add("run_delay_ms", static_cast<double>(delay) * 1e-6).add("tokens", static_cast<std::int64_t>(record.tokens));
  if (record.flags != 0) args.add("flags", flag_names(record.flags));
  return slice(header, kTraining, fmt::format("step {}", record.step), "step", axis.at(header, record.start_ns),
               record.duration_ns, args.text());
}

std::string event_line(const Header& header, const TimeAxis& axis, const Event& event) {
  JsonObject args;
  args.add("step", static_cast<std::int64_t>(event.step)).add("phase", trace::name_of(event.phase));
  std::string_view category = "compute";
  if (event.group == Event::kNoGroup) {
    args.add("micro_batch", static_cast<std::int64_t>(event.sequence));
  } else {
    category = trace::name_of(header.groups[event.group].kind);
    args.add("sequence", static_cast<std::int64_t>(event.sequence));
    args.add("bytes", static_cast<std::int64_t>(std::uint64_t{event.bytes} * Event::kByteUnit));
    if (trace::is_message(event.operation)) args.add("peer", header.groups[event.group].members[event.peer]);
  }
  if ((event.flags & trace::kComplete) == 0) args.add("complete", false);
  const int thread = (event.flags & trace::kOverlapped) != 0 ? kOverlapped : kTraining;
  return slice(header, thread, trace::name_of(event.operation), category, axis.at(header, event.start_ns),
               event.duration_ns(), args.text());
}

// --- CSV

std::string csv_text(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string csv_head() {
  std::string head = "step,rank,host,tp,pp,dp,attempt,start_ns,duration_ns,tokens,flags,events_dropped";
  for (std::size_t phase = 0; phase < trace::kPhases; ++phase) {
    const std::string_view name = trace::name_of(static_cast<Phase>(phase));
    head += fmt::format(",{0}_ns,{0}_delay_ns", name);
  }
  return head + "\r\n";
}

std::string csv_row(const Header& header, int attempt, const StepRecord& record) {
  std::string row = fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", record.step, header.rank, csv_text(header.host),
                                header.at.tensor, header.at.pipeline, header.at.data, attempt, record.start_ns,
                                record.duration_ns, record.tokens, flag_names(record.flags), record.events_dropped);
  for (const trace::PhaseTime& phase : record.phases) row += fmt::format(",{},{}", phase.wall_ns, phase.delay_ns);
  return row + "\r\n";
}

// Calls `visit` with each record that is wanted, by step, then rank.
void for_each_record(const TraceSet& traces, const Segment& segment, const ExportOptions& options,
                     const std::function<void(const Header&, const StepRecord&)>& visit) {
  const StepRange range = range_of(segment, options.range);
  if (range.first > range.last) return;
  traces.for_each_stretch(segment, [&](const TraceSet::Stretch& stretch) {
    for (std::int64_t i = 0; i < stretch.count; ++i) {
      const std::int64_t step = stretch.first + i;
      if (step < range.first || step > range.last) continue;
      for (const std::size_t rank : stretch.ranks) {
        const StepRecord& record = stretch.records[rank][static_cast<std::size_t>(i)];
        if (record.duration_ns == 0 || !is_wanted(options, rank)) continue;
        visit(traces.files()[static_cast<std::size_t>(segment.file_of_rank[rank])].header, record);
      }
    }
  });
}

}  // namespace

ExportSummary export_chrome(const TraceSet& traces, const ExportOptions& options, const Sink& sink) {
  const TimeAxis axis(traces);
  Output output(sink, options.most_bytes);
  ExportSummary summary;
  summary.clocks_are_aligned = axis.is_aligned();
  output.write(R"({"displayTimeUnit":"ms","traceEvents":[)"
               "\n");
  output.write(R"({"ph":"M","pid":0,"name":"trace","args":{"made_by":"convoy-profile export"}})");
  const auto put = [&](const std::string& line, std::int64_t& count) {
    ++(output.try_write(",\n" + line) ? count : summary.left_out);
  };
  std::vector<bool> named;
  for (const Segment& segment : traces.segments()) {
    named.resize(std::max(named.size(), segment.file_of_rank.size()));
    for (std::size_t rank = 0; rank < segment.file_of_rank.size(); ++rank) {
      if (segment.file_of_rank[rank] < 0 || !is_wanted(options, rank)) continue;
      const TraceFile& file = traces.files()[static_cast<std::size_t>(segment.file_of_rank[rank])];
      if (!named[rank]) output.try_write(process_lines(file.header));
      named[rank] = true;
    }
    for_each_record(traces, segment, options, [&](const Header& header, const StepRecord& record) {
      put(step_line(header, axis, record), summary.steps);
    });
    for (std::size_t rank = 0; rank < segment.file_of_rank.size(); ++rank) {
      if (segment.file_of_rank[rank] < 0 || !is_wanted(options, rank)) continue;
      const TraceFile& file = traces.files()[static_cast<std::size_t>(segment.file_of_rank[rank])];
      for (const Event& event : traces.events(file, range_of(segment, options.range)))
        put(event_line(file.header, axis, event), summary.events);
    }
  }
  output.write("\n]}\n");
  summary.bytes = output.bytes();
  return summary;
}

ExportSummary export_csv(const TraceSet& traces, const ExportOptions& options, const Sink& sink) {
  Output output(sink, options.most_bytes);
  ExportSummary summary;
  output.write(csv_head());
  for (const Segment& segment : traces.segments()) {
    for_each_record(traces, segment, options, [&](const Header& header, const StepRecord& record) {
      ++(output.try_write(csv_row(header, segment.attempt, record)) ? summary.steps : summary.left_out);
    });
  }
  summary.bytes = output.bytes();
  return summary;
}

}  // namespace convoy::analysis
