// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/communication.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace convoy::analysis {
namespace {

using trace::Event;
using trace::GroupKind;
using trace::Phase;

constexpr std::size_t kMostCalls = std::size_t{2} << 20;  // kept at a time: 32 MiB
constexpr GroupKind kSplit[] = {GroupKind::kTensor, GroupKind::kData, GroupKind::kWorld};

using GroupKey = std::pair<GroupKind, std::vector<int>>;

// Training waits for it: not a reduction beside the computation, nothing of an evaluation or a checkpoint.
bool is_exposed_collective(const Event& event) {
  constexpr std::uint8_t kUnusable = trace::kOverlapped | trace::kSaturated;
  if ((event.flags & trace::kComplete) == 0 || (event.flags & kUnusable) != 0) return false;
  if (!trace::is_collective(event.operation) || event.group == Event::kNoGroup) return false;
  return trace::is_training(event.phase);
}

// The groups whose members all have a trace, as many of each kind as kRanksOfEvents allows.
std::map<GroupKey, std::vector<MemberCall>> groups_of(const TraceSet& traces, const Segment& segment,
                                                      std::set<int>& ranks) {
  std::map<GroupKey, std::vector<MemberCall>> groups;
  const auto has_trace = [&](int rank) {
    return rank >= 0 && rank < static_cast<int>(segment.file_of_rank.size()) &&
           segment.file_of_rank[static_cast<std::size_t>(rank)] >= 0;
  };
  for (const GroupKind kind : kSplit) {
    for (const int index : segment.file_of_rank) {
      if (index < 0) continue;
      for (const trace::Group& group : traces.files()[static_cast<std::size_t>(index)].header.groups) {
        if (group.kind != kind || group.members.size() < 2 || !std::ranges::all_of(group.members, has_trace)) continue;
        if (groups.contains({kind, group.members})) continue;
        std::set<int> with = ranks;
        with.insert(group.members.begin(), group.members.end());
        if (with.size() > kRanksOfEvents) continue;
        ranks = std::move(with);
        groups[{kind, group.members}];
      }
    }
  }
  return groups;
}

// The last steps of which `events` hold about `calls` collectives.
StepRange last_steps(const std::vector<Event>& events, const StepRange& range, std::size_t calls) {
  StepRange result = range;
  std::size_t counted = 0;
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (!is_exposed_collective(*event)) continue;
    if (++counted > calls) {
      result.first = std::int64_t{event->step} + 1;
      break;
    }
  }
  return result;
}

std::map<GroupKind, WaitSplit> splits_of(const TraceSet& traces, const Segment& segment, StepRange range) {
  std::set<int> ranks;
  std::map<GroupKey, std::vector<MemberCall>> groups = groups_of(traces, segment, ranks);
  range.first = std::max(range.first, segment.first_step);
  range.last = std::min(range.last, segment.last_step);
  bool is_first = true;
  for (const int rank : ranks) {
    const TraceFile& file =
        traces.files()[static_cast<std::size_t>(segment.file_of_rank[static_cast<std::size_t>(rank)])];
    const std::vector<Event> events = traces.events(file, range);
    if (is_first) range = last_steps(events, range, kMostCalls / ranks.size());
    is_first = false;
    for (const Event& event : events) {
      if (!is_exposed_collective(event) || event.step < range.first || event.group >= file.header.groups.size())
        continue;
      const trace::Group& group = file.header.groups[event.group];
      const auto found = groups.find({group.kind, group.members});
      if (found == groups.end()) continue;
      const auto place = std::ranges::find(group.members, rank);
      if (place == group.members.end()) continue;
      found->second.push_back({.sequence = event.sequence,
                               .member = static_cast<std::uint16_t>(place - group.members.begin()),
                               .operation = event.operation,
                               .seconds = static_cast<float>(1e-9 * static_cast<double>(event.duration_ns()))});
    }
  }
  std::map<GroupKind, WaitSplit> splits;
  for (auto& [key, calls] : groups) splits[key.first].add(split_calls(calls, key.second.size()));
  return splits;
}

}  // namespace

void WaitSplit::add(const WaitSplit& other) {
  waiting += other.waiting;
  transferring += other.transferring;
  calls += other.calls;
}

WaitSplit split_calls(std::vector<MemberCall>& calls, std::size_t members) {
  std::ranges::sort(calls, [](const MemberCall& a, const MemberCall& b) {
    return std::tie(a.sequence, a.member) < std::tie(b.sequence, b.member);
  });
  WaitSplit split;
  for (std::size_t first = 0, last = 0; first < calls.size(); first = last) {
    while (last < calls.size() && calls[last].sequence == calls[first].sequence) ++last;
    if (last - first != members) continue;
    float fastest = calls[first].seconds;
    double sum = 0.0;
    bool alike = true;
    for (std::size_t i = first; i < last; ++i) {
      alike = alike && calls[i].member == i - first && calls[i].operation == calls[first].operation;
      fastest = std::min(fastest, calls[i].seconds);
      sum += static_cast<double>(calls[i].seconds);
    }
    if (!alike) continue;
    const double transferring = static_cast<double>(fastest) * static_cast<double>(members);
    split.transferring += transferring;
    split.waiting += std::max(0.0, sum - transferring);
    ++split.calls;
  }
  return split;
}

void split_exposed(const TraceSet& traces, const StepRange& range, std::vector<Exposed>& exposed) {
  const auto& segments = traces.segments();
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    bool any = false;
    const std::map<GroupKind, WaitSplit> splits = splits_of(traces, *segment, range);
    for (Exposed& row : exposed) {
      const auto found = splits.find(row.group);
      if (found == splits.end() || found->second.calls == 0) continue;
      const double both = found->second.waiting + found->second.transferring;
      if (both <= 0.0) continue;
      row.waiting = row.seconds * found->second.waiting / both;
      row.transferring = row.seconds - *row.waiting;
      any = true;
    }
    if (any) return;
  }
}

}  // namespace convoy::analysis
