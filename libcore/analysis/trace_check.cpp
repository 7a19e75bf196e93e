// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/trace_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "libcore/analysis/display.h"
#include "libcore/analysis/peers.h"
#include "libcore/analysis/trace_files.h"
#include "libcore/base/error.h"

namespace convoy::analysis {
namespace {

using trace::Event;
using trace::StepRecord;

// How often something was seen, and where first.
struct Sightings {
  std::int64_t count = 0;
  std::string first;

  void add(const std::string& where) {
    if (count++ == 0) first = where;
  }
  void tell(const char* what, std::vector<std::string>& problems) const {
    if (count == 1) problems.push_back(fmt::format("{} {}", what, first));
    if (count > 1) problems.push_back(fmt::format("{} {}, and {} more times", what, first, count - 1));
  }
};

// The steps of one file, in its order.
class StepChecker {
 public:
  void add(const StepRecord& record) {
    const auto step = static_cast<std::int64_t>(record.step);
    if (count_++ > 0) compare(record, step);
    previous_ = record;
  }
  void tell(std::vector<std::string>& problems) const {
    backward_.tell("a step is repeated or goes back", problems);
    holes_.tell("steps are missing", problems);
    clock_.tell("the clock goes back", problems);
  }

 private:
  void compare(const StepRecord& record, std::int64_t step) {
    const auto last = static_cast<std::int64_t>(previous_.step);
    if (step <= last) backward_.add(fmt::format("at step {}, after step {}", step, last));
    if (step > last + 1) {
      holes_.add(step == last + 2 ? fmt::format("({})", last + 1) : fmt::format("({} to {})", last + 1, step - 1));
    }
    if (record.start_ns < previous_.start_ns + previous_.duration_ns) {
      clock_.add(fmt::format("at step {}: it begins {} ns before step {} ends", step,
                             previous_.start_ns + previous_.duration_ns - record.start_ns, last));
    }
  }

  std::int64_t count_ = 0;
  StepRecord previous_;
  Sightings backward_, holes_, clock_;
};

// A sequence counts a group's collectives, or the messages to a peer or from it.
using Sequence = std::tuple<std::uint16_t, int, std::uint16_t>;

struct Call {
  Sequence of;
  std::uint32_t sequence, step;
  auto operator<=>(const Call&) const = default;
};

Call call_of(const Event& event) {
  const bool message = trace::is_message(event.operation);
  return {{event.group, message ? static_cast<int>(event.operation) : 0, message ? event.peer : std::uint16_t{0}},
          event.sequence,
          event.step};
}

// Between steps that do not follow each other calls were not kept.
void check_sequences(std::vector<Call>& calls, const trace::Header& header, std::vector<std::string>& problems) {
  std::ranges::sort(calls);
  Sightings holes, repeated, backward;
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const Call &a = calls[i - 1], &b = calls[i];
    if (a.of != b.of) continue;
    const std::string where =
        fmt::format("in group {}: {} in step {}, {} in step {}", trace::name_of(header.groups[std::get<0>(a.of)].kind),
                    a.sequence, a.step, b.sequence, b.step);
    if (a.sequence == b.sequence) {
      repeated.add(where);
    } else if (b.step < a.step) {
      backward.add(where);
    } else if (b.step <= a.step + 1 && b.sequence != a.sequence + 1) {
      holes.add(where);
    }
  }
  repeated.tell("a call's sequence is there twice", problems);
  backward.tell("a sequence goes back", problems);
  holes.tell("calls are missing from a sequence", problems);
}

void tell_damage(const trace::Damage& damage, std::vector<std::string>& problems) {
  if (damage.records > 0) {
    problems.push_back(fmt::format("{} {} left out, the first because {}", damage.records,
                                   damage.records == 1 ? "record is" : "records are", damage.problem));
  }
  const std::uint64_t bytes = damage.bytes;
  if (damage.blocks > 0 && damage.records == 0) {
    problems.push_back(fmt::format("{} {} torn or damaged, {} bytes lost", damage.blocks,
                                   damage.blocks == 1 ? "block is" : "blocks are", bytes));
  } else if (damage.blocks > 0) {
    problems.push_back(fmt::format("{} bytes lost in all", bytes));
  }
}

CheckedFile check_file(const Path& path) {
  CheckedFile file;
  file.name = path.filename().string();
  try {
    trace::TraceReader reader(path);
    file.header = reader.header();
    file.is_readable = true;
    std::vector<StepRecord> steps;
    std::vector<Event> events;
    StepChecker checker;
    std::vector<Call> calls;
    while (reader.next(steps, events)) {
      for (const StepRecord& record : steps) {
        const auto step = static_cast<std::int64_t>(record.step);
        file.first_step = file.steps == 0 ? step : std::min(file.first_step, step);
        file.last_step = std::max(file.last_step, step);
        ++file.steps;
        checker.add(record);
      }
      file.events += static_cast<std::int64_t>(events.size());
      for (const Event& event : events)
        if (event.group != Event::kNoGroup) calls.push_back(call_of(event));
    }
    file.damage = reader.damage();
    tell_damage(file.damage, file.problems);
    checker.tell(file.problems);
    check_sequences(calls, file.header, file.problems);
  } catch (const Error& error) {  // not sound, or not readable
    file.problems.push_back(error.what());
  }
  return file;
}

using Files = std::vector<const CheckedFile*>;

// Which ranks wrote, and at which places, against what the first file says.
void check_ranks(int attempt, const Files& files, std::vector<std::string>& problems) {
  const trace::Header& header = files.front()->header;
  std::map<int, const CheckedFile*> of_rank;
  std::map<std::tuple<int, int, int>, int> at;
  for (const CheckedFile* file : files) {
    const trace::Header& other = file->header;
    if (layout_of(header) != layout_of(other)) {
      problems.push_back(
          fmt::format("attempt {}: {} and {} are of different layouts", attempt, files.front()->name, file->name));
      return;
    }
    if (other.run != header.run)
      problems.push_back(
          fmt::format("attempt {}: {} and {} are of different runs", attempt, files.front()->name, file->name));
    const auto [known, is_new] = of_rank.emplace(other.rank, file);
    if (!is_new)
      problems.push_back(fmt::format("attempt {}: {} and {} are both of rank {}", attempt, known->second->name,
                                     file->name, other.rank));
    const auto place = std::tuple(other.at.tensor, other.at.pipeline, other.at.data);
    const auto [taken, is_free] = at.emplace(place, other.rank);
    if (!is_free && taken->second != other.rank)
      problems.push_back(fmt::format("attempt {}: ranks {} and {} are at the same place of the layout", attempt,
                                     taken->second, other.rank));
  }
  std::vector<int> absent;
  for (int rank = 0; rank < header.world; ++rank)
    if (!of_rank.contains(rank)) absent.push_back(rank);
  if (!absent.empty())
    problems.push_back(fmt::format("attempt {}: {} of {} wrote no trace", attempt, named_ranks(absent), header.world));
}

// Ranks are killed within a step of each other.
void check_ends(int attempt, const Files& files, std::vector<std::string>& problems) {
  std::int64_t first = INT64_MAX, last = 0;
  for (const CheckedFile* file : files) {
    if (file->steps == 0) continue;
    first = std::min(first, file->first_step);
    last = std::max(last, file->last_step);
  }
  if (last == 0) return;
  std::vector<int> late, early, none;
  for (const CheckedFile* file : files) {
    if (file->steps == 0) {
      none.push_back(file->header.rank);
    } else {
      if (file->first_step > first + 1) late.push_back(file->header.rank);
      if (file->last_step < last - 1) early.push_back(file->header.rank);
    }
  }
  if (!none.empty())
    problems.push_back(fmt::format("attempt {}: {}: no step, others have", attempt, named_ranks(none)));
  if (!late.empty())
    problems.push_back(
        fmt::format("attempt {}: {}: steps begin after step {}, the others' first", attempt, named_ranks(late), first));
  if (!early.empty())
    problems.push_back(
        fmt::format("attempt {}: {}: steps end before step {}, the others' last", attempt, named_ranks(early), last));
}

// A run that was taken up again from a checkpoint does the steps behind it once more.
void note_attempts(const std::map<int, Files>& attempts, std::vector<std::string>& notes) {
  std::int64_t reached = 0;
  for (const auto& [attempt, files] : attempts) {
    std::int64_t first = INT64_MAX, last = 0;
    for (const CheckedFile* file : files) {
      if (file->steps > 0) first = std::min(first, file->first_step);
      if (file->steps > 0) last = std::max(last, file->last_step);
    }
    if (last == 0) {
      notes.push_back(fmt::format("attempt {} recorded no step", attempt));
    } else if (first <= reached) {
      notes.push_back(fmt::format("attempt {} did steps {} to {} again; its records count", attempt, first,
                                  std::min(last, reached)));
    }
    reached = std::max(reached, last);
  }
}

}  // namespace

bool TraceCheck::is_sound() const {
  return problems.empty() && std::ranges::all_of(files, [](const CheckedFile& file) { return file.problems.empty(); });
}

TraceCheck check_traces(const Path& run) {
  TraceCheck check;
  for (const Path& path : trace_files_below(run)) check.files.push_back(check_file(path));
  std::map<int, Files> attempts;
  for (const CheckedFile& file : check.files)
    if (file.is_readable) attempts[file.header.attempt].push_back(&file);
  for (const auto& [attempt, files] : attempts) {
    check_ranks(attempt, files, check.problems);
    check_ends(attempt, files, check.problems);
  }
  note_attempts(attempts, check.notes);
  return check;
}

}  // namespace convoy::analysis
