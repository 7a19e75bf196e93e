// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/jsonl_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "libcore/analysis/phase_sweep.h"
#include "libcore/analysis/trace_folder.h"
#include "libcore/base/error.h"
#include "libcore/trace/record_check.h"
#include "libcore/trace/trace_writer.h"

namespace convoy::analysis {
namespace {

using trace::GroupKind;
using trace::Operation;
using trace::Phase;

constexpr std::size_t kMostComplaints = 5;
constexpr std::uint32_t kMostMicroBatches = 1'000'000;
constexpr std::uint64_t kSinceEpoch = 1'000'000'000'000'000'000;  // ns: later times are taken for UTC
constexpr std::array<const char*, 3> kAxes = {"tp", "pp", "dp"};

std::size_t place_of(GroupKind kind) { return static_cast<std::size_t>(kind); }

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

void JsonlImport::complain(std::int64_t line, const std::string& why) {
  const std::string complaint = fmt::format("{}: line {}: {}", name_, line, why);
  if (!skip_bad_rows_) throw DataError(complaint + "; correct the row, or leave such rows out with --skip-bad-rows");
  ++summary_.bad_rows;
  if (summary_.complaints.size() < kMostComplaints) summary_.complaints.push_back(complaint);
}

void JsonlImport::add(std::string_view line) {
  ++summary_.lines;
  if (is_blank(line)) return;
  JsonlRow row;
  std::string problem = parse_jsonl_row(line, row);
  if (!problem.empty()) return complain(summary_.lines, problem);
  Rank& rank = ranks_[row.rank];
  problem = settle(row, rank);
  if (problem.empty()) problem = settle_group(row, rank);
  if (!problem.empty()) return complain(summary_.lines, problem);
  const std::array<std::optional<int>, 3> said = {row.tensor, row.pipeline, row.data};
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (said[i] && rank.coordinates[i] < 0) rank.said_at[i] = summary_.lines;
    if (said[i]) rank.coordinates[i] = *said[i];
  }
  if (row.host && rank.host_said_at == 0) {
    rank.host = *row.host;
    rank.host_said_at = summary_.lines;
  }
  summary_.unknown_keys += row.unknown_keys;
  if (row.phase == Phase::kForward && row.sequence < kMostMicroBatches)
    micro_batches_ = std::max(micro_batches_, static_cast<int>(row.sequence) + 1);
  rank.rows.push_back({.start_ns = row.start_ns,
                       .duration_ns = row.duration_ns,
                       .bytes = row.bytes,
                       .line = summary_.lines,
                       .step = row.step,
                       .sequence = row.sequence,
                       .group = row.is_collective ? rank.group_of_kind[place_of(row.group_kind)] : -1,
                       .peer = row.peer.value_or(-1),
                       .phase = row.phase,
                       .operation = row.operation,
                       .is_collective = row.is_collective,
                       .overlapped = row.overlapped});
}

// What a rank says of itself must be the same in all of its rows.
std::string JsonlImport::settle(const JsonlRow& row, Rank& rank) const {
  const std::array<std::optional<int>, 3> said = {row.tensor, row.pipeline, row.data};
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (!said[i] || rank.coordinates[i] < 0 || rank.coordinates[i] == *said[i]) continue;
    return fmt::format("{} of rank {} is {}, but {} in line {}", kAxes[i], row.rank, *said[i], rank.coordinates[i],
                       rank.said_at[i]);
  }
  if (row.host && rank.host_said_at > 0 && *row.host != rank.host)
    return fmt::format("host of rank {} is not the one of line {}", row.rank, rank.host_said_at);
  return "";
}

std::string JsonlImport::settle_group(const JsonlRow& row, Rank& rank) {
  if (!row.is_collective) return "";
  int& present = rank.group_of_kind[place_of(row.group_kind)];
  const auto known = group_of_name_.find(row.group);
  if (present >= 0 && (known == group_of_name_.end() || known->second != present)) {
    return fmt::format("rank {} is in group {} here, but in {} before; a rank is in one group of a kind", row.rank,
                       row.group, groups_[static_cast<std::size_t>(present)].name);
  }
  if (present >= 0) return "";
  present = known != group_of_name_.end() ? known->second : static_cast<int>(groups_.size());
  if (known == group_of_name_.end()) {
    group_of_name_.emplace(row.group, present);
    groups_.push_back({row.group_kind, row.group, {}});
  }
  groups_[static_cast<std::size_t>(present)].members.push_back(row.rank);
  return "";
}

// Sizes from the coordinates; where nobody says any, all ranks are replicas.
trace::Header JsonlImport::layout() {
  has_coordinates_ = std::ranges::any_of(ranks_, [](const auto& entry) {
    return std::ranges::any_of(entry.second.coordinates, [](int coordinate) { return coordinate >= 0; });
  });
  const std::int64_t last = ranks_.rbegin()->first;
  std::array<std::int64_t, 3> sizes = {1, 1, has_coordinates_ ? 1 : last + 1};
  std::map<std::array<int, 3>, int> taken;
  for (const auto& [number, rank] : ranks_) {
    if (!has_coordinates_) break;
    std::array<int, 3> at = {};
    for (std::size_t i = 0; i < at.size(); ++i) {
      at[i] = std::max(0, rank.coordinates[i]);
      sizes[i] = std::max<std::int64_t>(sizes[i], at[i] + 1);
    }
    const auto [other, is_free] = taken.emplace(at, number);
    if (is_free) continue;
    throw DataError(
        fmt::format("{}: ranks {} and {} are both at tp {}, pp {}, dp {}; give every rank coordinates of its "
                    "own, or none any",
                    name_, other->second, number, at[0], at[1], at[2]));
  }
  const std::int64_t world = sizes[0] * sizes[1] * sizes[2];  // of numbers below 2^17
  if (world <= last || world > kMostImportedRanks) {
    throw DataError(
        fmt::format("{}: tp {} x pp {} x dp {} are {} ranks, but the last is rank {} (at most {} are "
                    "possible); give every rank its tp, pp and dp",
                    name_, sizes[0], sizes[1], sizes[2], world, last, kMostImportedRanks));
  }
  trace::Header run;
  run.run = "imported from " + name_;
  run.world = static_cast<int>(world);
  run.tensor = static_cast<int>(sizes[0]);
  run.pipeline = static_cast<int>(sizes[1]);
  run.data = static_cast<int>(sizes[2]);
  run.micro_batches = micro_batches_;
  return run;
}

trace::Header JsonlImport::header_of(trace::Header run, int number, const Rank& rank) const {
  run.rank = number;
  run.host = rank.host;
  run.at = {std::max(0, rank.coordinates[0]), std::max(0, rank.coordinates[1]), std::max(0, rank.coordinates[2])};
  if (!has_coordinates_) run.at.data = number;
  run.started_monotonic_ns = std::ranges::min(rank.rows, {}, &Row::start_ns).start_ns;
  if (run.started_monotonic_ns >= kSinceEpoch)
    run.started_unix_ns = static_cast<std::int64_t>(run.started_monotonic_ns);
  for (const int index : rank.group_of_kind) {
    if (index < 0) continue;
    const NamedGroup& group = groups_[static_cast<std::size_t>(index)];
    run.groups.push_back({group.kind, group.members});
  }
  return run;
}

// In the order of steps and starts, what encloses before what it encloses; a row that is there twice counts once.
void JsonlImport::sort_rows(Rank& rank) {
  const auto content = [](const Row& row) {
    return std::tuple(row.step, row.start_ns, ~row.duration_ns, row.is_collective, row.phase, row.operation, row.group,
                      row.peer, row.sequence, row.bytes, row.overlapped);
  };
  std::ranges::sort(rank.rows, {}, [&content](const Row& row) { return std::pair(content(row), row.line); });
  const auto repeated = std::ranges::unique(rank.rows, {}, content);
  summary_.repeated_rows += static_cast<std::int64_t>(repeated.size());
  rank.rows.erase(repeated.begin(), repeated.end());
}

// A sequence counts the collectives of a group, or the messages to a peer or from it, and so names one call.
void JsonlImport::refuse_repeated_calls(Rank& rank) {
  std::map<std::tuple<int, Operation, int, std::uint32_t>, std::int64_t> seen;
  std::erase_if(rank.rows, [&](const Row& row) {
    if (!row.is_collective) return false;
    const bool message = trace::is_message(row.operation);
    const auto [first, is_new] = seen.emplace(
        std::tuple(row.group, message ? row.operation : Operation::kAllReduce, message ? row.peer : -1, row.sequence),
        row.line);
    if (is_new) return false;
    complain(row.line, fmt::format("sequence {} of {} is in line {} too; it counts a group's calls over the whole run",
                                   row.sequence, groups_[static_cast<std::size_t>(row.group)].name, first->second));
    return true;
  });
}

// From ranks of the world to ranks of the group. A message whose peer is not said has the rank itself for it.
void JsonlImport::resolve_peers(int number, Rank& rank) {
  std::erase_if(rank.rows, [this, number](Row& row) {
    if (!row.is_collective || !trace::is_message(row.operation)) return false;
    const NamedGroup& group = groups_[static_cast<std::size_t>(row.group)];
    const auto found = std::ranges::find(group.members, row.peer < 0 ? number : row.peer);
    if (found == group.members.end()) {
      complain(row.line, fmt::format("peer {} has no row of group {}", row.peer, group.name));
      return true;
    }
    row.peer = static_cast<int>(found - group.members.begin());
    return false;
  });
}

trace::Event JsonlImport::event_of(const Rank& rank, const Row& row, Phase inside) const {
  trace::Event event;
  event.start_ns = row.start_ns;
  event.step = row.step;
  event.sequence = row.sequence;
  event.phase = inside;
  event.flags = row.overlapped ? trace::kComplete | trace::kOverlapped : trace::kComplete;
  set_duration(event, row.duration_ns);
  if (!row.is_collective) {
    event.operation = row.phase == Phase::kForward ? Operation::kForward : Operation::kBackward;
    return event;
  }
  event.operation = row.operation;
  if (trace::is_message(row.operation)) event.peer = static_cast<std::uint16_t>(row.peer);
  set_bytes(event, row.bytes);
  event.group = 0;
  for (const int index : rank.group_of_kind) {
    if (index == row.group) break;
    if (index >= 0) ++event.group;
  }
  return event;
}

// The rows of one step of one rank, sorted.
void JsonlImport::build_step(const Rank& rank, std::span<const Row> rows, ImportedTrace& trace) {
  PhaseSweep sweep;
  for (const Row& row : rows) {
    const auto group =
        row.is_collective ? std::optional(groups_[static_cast<std::size_t>(row.group)].kind) : std::nullopt;
    const Phase inside = row.overlapped ? sweep.inside_at(row.start_ns)
                         : group        ? sweep.call(row.start_ns, row.duration_ns, *group)
                                        : sweep.phase(row.start_ns, row.duration_ns, row.phase);
    const bool computes = row.phase == Phase::kForward || row.phase == Phase::kBackward;
    if (row.is_collective || computes) trace.events.push_back(event_of(rank, row, inside));
  }
  const std::optional<trace::StepRecord> record = sweep.finish(rows[0].step);
  if (record && record->duration_ns > trace::kLongestStep) {
    complain(rows[0].line,
             fmt::format("step {} begins here and lasts {} days; is a start_ns of another clock among its "
                         "rows?",
                         rows[0].step, record->duration_ns / 86'400'000'000'000));
    std::erase_if(trace.events, [&rows](const trace::Event& event) { return event.step == rows[0].step; });
  } else if (record) {
    trace.steps.push_back(*record);
  } else {
    ++summary_.empty_steps;
  }
}

void JsonlImport::build(const trace::Header& run, int number, Rank& rank, ImportedTrace& trace) {
  sort_rows(rank);
  refuse_repeated_calls(rank);
  resolve_peers(number, rank);
  if (rank.rows.empty()) return;
  trace.header = header_of(run, number, rank);
  for (std::size_t first = 0, end = 0; first < rank.rows.size(); first = end) {
    while (end < rank.rows.size() && rank.rows[end].step == rank.rows[first].step) ++end;
    build_step(rank, std::span(rank.rows).subspan(first, end - first), trace);
  }
  summary_.rows += static_cast<std::int64_t>(rank.rows.size());
  summary_.steps += static_cast<std::int64_t>(trace.steps.size());
}

void JsonlImport::finish(const std::function<void(const ImportedTrace&)>& visit) {
  std::erase_if(ranks_, [](const auto& entry) { return entry.second.rows.empty(); });
  if (ranks_.empty()) {
    throw DataError(fmt::format("{}: no row in {} {}; expected one JSON object a line", name_, summary_.lines,
                                summary_.lines == 1 ? "line" : "lines"));
  }
  const trace::Header run = layout();
  for (NamedGroup& group : groups_) {
    if (group.kind == GroupKind::kWorld) {
      group.members.resize(static_cast<std::size_t>(run.world));
      std::iota(group.members.begin(), group.members.end(), 0);
    }
    std::ranges::sort(group.members);
  }
  for (auto& [number, rank] : ranks_) {
    ImportedTrace trace;
    build(run, number, rank, trace);
    rank.rows = {};
    if (trace.steps.empty() && trace.events.empty()) continue;
    ++summary_.ranks;
    visit(trace);
  }
  if (summary_.ranks == 0) throw DataError(fmt::format("{}: no row is of use; all were left out", name_));
}

ImportSummary import_jsonl(const Path& file, const Path& run, bool skip_bad_rows) {
  const MappedFile input(file, "rows to import");
  JsonlImport rows(fmt::format("'{}'", file.string()), skip_bad_rows);
  std::string_view text(reinterpret_cast<const char*>(input.bytes().data()), input.bytes().size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    rows.add(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  TraceFolder folder(run);
  rows.finish([&folder](const ImportedTrace& trace) {
    trace::TraceWriter writer(folder.file_of(trace.header.rank), trace.header);
    writer.append(trace.steps);
    writer.append(trace.events);
  });
  folder.commit();
  return rows.summary();
}

}  // namespace convoy::analysis
