// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/trace_set.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "libcore/analysis/display.h"
#include "libcore/analysis/peers.h"
#include "libcore/analysis/segments.h"
#include "libcore/analysis/trace_files.h"
#include "libcore/base/error.h"
#include "libcore/base/json.h"
#include "libcore/trace/trace_reader.h"

namespace convoy::analysis {
namespace {

constexpr std::int64_t kStretchSteps = 64;
// Between the records of a run lie no more steps without one than this, and 16 times their number: beyond, step numbers
// are not to be believed, and columns for all of them would not fit in memory.
constexpr std::int64_t kWidestGap = 65536;
constexpr std::int64_t kSpanPerStep = 16;
constexpr std::size_t kMostSentences = 16;  // of one kind, before they are summed up

struct Scan {
  TraceFile file;
  trace::Damage damage;
  std::int64_t disordered = 0;  // records of a step that is not behind all before it
};

bool is_sparse(std::int64_t first, std::int64_t last, std::int64_t steps) {
  return last - first > kSpanPerStep * steps + kWidestGap;
}

Scan scan(const Path& path, const StepRange& range) {
  trace::TraceReader reader(path);
  Scan result;
  result.file.path = path;
  result.file.header = reader.header();
  std::vector<trace::StepRecord> steps;
  TraceFile& file = result.file;
  std::int64_t latest = 0;
  while (reader.next_steps(steps)) {
    for (const trace::StepRecord& record : steps) {
      const auto step = static_cast<std::int64_t>(record.step);
      if (record.duration_ns == 0) continue;
      result.disordered += step <= latest ? 1 : 0;
      latest = std::max(latest, step);
      file.begin = file.begin == 0 ? step : std::min(file.begin, step);
      file.end = std::max(file.end, step);
      if (step < range.first || step > range.last) continue;
      file.first_step = file.steps == 0 ? step : std::min(file.first_step, step);
      file.last_step = std::max(file.last_step, step);
      ++file.steps;
    }
  }
  result.damage = reader.damage();
  if (is_sparse(file.first_step, file.last_step, file.steps))
    throw DataError(fmt::format("{}: {} records of steps {} to {}, which are no run's", path.string(), file.steps,
                                file.first_step, file.last_step));
  return result;
}

bool same_run(const trace::Header& a, const trace::Header& b) { return layout_of(a) == layout_of(b) && a.run == b.run; }

// Of the files of one attempt, the header that most of them agree with.
const trace::Header& common_header(const std::vector<TraceFile>& files, const std::vector<int>& members) {
  std::size_t best_count = 0;
  int best = members.front();
  for (const int candidate : members) {
    const auto agrees = [&](int other) {
      return same_run(files[static_cast<std::size_t>(candidate)].header, files[static_cast<std::size_t>(other)].header);
    };
    const auto count = static_cast<std::size_t>(std::ranges::count_if(members, agrees));
    if (count > best_count) {
      best_count = count;
      best = candidate;
    }
    if (2 * best_count > members.size()) break;
  }
  return files[static_cast<std::size_t>(best)].header;
}

// So many files may be open at once.
void allow_open_files(std::size_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto wanted = static_cast<rlim_t>(count + 64);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);  // refused: opening the file too many says so
}

// The step records of one rank, in order, from whichever block they are in.
class RankStream {
 public:
  explicit RankStream(const Path& path) : reader_(path) {}

  // Writes the records of steps first .. first + out.size() - 1 to their places.
  void read(std::int64_t first, std::vector<trace::StepRecord>& out) {
    const std::int64_t last = first + static_cast<std::int64_t>(out.size()) - 1;
    for (;;) {
      for (; next_ < block_.size(); ++next_) {
        const auto step = static_cast<std::int64_t>(block_[next_].step);
        if (step > last) return;
        if (step >= first) out[static_cast<std::size_t>(step - first)] = block_[next_];
      }
      next_ = 0;
      if (!reader_.next_steps(block_)) {
        block_.clear();
        return;
      }
    }
  }

 private:
  trace::TraceReader reader_;
  std::vector<trace::StepRecord> block_;
  std::size_t next_ = 0;
};

}  // namespace

TraceSet TraceSet::open(const Path& run, const StepRange& range) {
  TraceSet set;
  const std::vector<Path> paths = trace_files_below(run);
  std::string first_problem;
  for (const Path& path : paths) {
    try {
      Scan found = scan(path, range);
      if (found.damage.any())
        set.incomplete_.push_back(fmt::format("rank {}: {} steps, {} bytes unreadable in {}", found.file.header.rank,
                                              found.file.steps, found.damage.bytes, path.filename().string()));
      if (found.disordered > 0)
        set.incomplete_.push_back(fmt::format("rank {}: {} in {}", found.file.header.rank,
                                              found.disordered == 1
                                                  ? "1 step repeats or goes back"
                                                  : fmt::format("{} steps repeat or go back", found.disordered),
                                              path.filename().string()));
      if (const std::string why = why_no_ring(found.file); !why.empty())
        set.incomplete_.push_back(
            fmt::format("rank {}: the last events cannot be read: {}", found.file.header.rank, why));
      set.files_.push_back(std::move(found.file));
    } catch (const Error& error) {  // not sound, or not readable: the other ranks' traces are what they are
      set.incomplete_.push_back(fmt::format("left out: {}", error.what()));
      if (first_problem.empty()) first_problem = error.what();
    }
  }
  if (set.files_.empty()) throw DataError(fmt::format("{}: no trace can be read; {}", run.string(), first_problem));
  set.make_segments();
  return set;
}

void TraceSet::make_segments() {
  std::map<int, std::vector<int>> of_attempt;
  for (std::size_t i = 0; i < files_.size(); ++i) of_attempt[files_[i].header.attempt].push_back(static_cast<int>(i));
  std::map<int, Segment> made;
  std::vector<AttemptSteps> attempts;
  for (const auto& [attempt, members] : of_attempt) {
    Segment segment = segment_of(attempt, members);
    if (segment.first_step <= segment.last_step) attempts.push_back({attempt, segment.first_step, segment.last_step});
    made.emplace(attempt, std::move(segment));
  }
  if (attempts.empty()) {  // nobody finished a step: the newest attempt still says what the run was
    segments_.push_back(std::move(made.rbegin()->second));
    return;
  }
  for (const AttemptSteps& steps : latest_attempts(attempts)) {
    Segment segment = made.at(steps.attempt);
    segment.first_step = steps.first;
    segment.last_step = steps.last;
    const auto begins_here = [&](int index) {
      return index >= 0 && files_[static_cast<std::size_t>(index)].begin == steps.first;
    };
    segment.begins_attempt = std::ranges::any_of(segment.file_of_rank, begins_here);
    segments_.push_back(std::move(segment));
  }
}

Segment TraceSet::segment_of(int attempt, const std::vector<int>& members) {
  Segment segment;
  segment.attempt = attempt;
  segment.header = common_header(files_, members);
  segment.file_of_rank.assign(static_cast<std::size_t>(segment.header.world), -1);
  std::int64_t most_steps = 0;  // of the longest file
  for (const int index : members) most_steps = std::max(most_steps, files_[static_cast<std::size_t>(index)].steps);
  for (const int index : members) {
    const TraceFile& file = files_[static_cast<std::size_t>(index)];
    if (!same_run(file.header, segment.header)) {
      incomplete_.push_back(fmt::format("left out: {} is of another run or layout than the other traces of attempt {}",
                                        file.path.filename().string(), attempt));
      continue;
    }
    int& place = segment.file_of_rank[static_cast<std::size_t>(file.header.rank)];
    if (place >= 0) {
      incomplete_.push_back(fmt::format("left out: {} is a second trace of rank {} in attempt {}",
                                        file.path.filename().string(), file.header.rank, attempt));
      continue;
    }
    const bool none_yet = segment.last_step < segment.first_step;
    const std::int64_t first = none_yet ? file.first_step : std::min(segment.first_step, file.first_step);
    const std::int64_t last = none_yet ? file.last_step : std::max(segment.last_step, file.last_step);
    if (file.steps > 0 && is_sparse(first, last, most_steps)) {
      incomplete_.push_back(fmt::format("left out: {} has steps {} to {}, far from those of the other ranks",
                                        file.path.filename().string(), file.first_step, file.last_step));
      continue;
    }
    place = index;
    if (file.steps == 0) continue;
    segment.first_step = first;
    segment.last_step = last;
  }
  say_what_lacks(segment);
  return segment;
}

void TraceSet::say_what_lacks(const Segment& segment) {
  const std::string attempt = segment.attempt > 1 ? fmt::format(" in attempt {}", segment.attempt) : "";
  std::vector<int> absent;
  std::size_t sentences = 0;
  std::vector<int> more;
  const std::int64_t steps = segment.last_step - segment.first_step + 1;
  for (std::size_t rank = 0; rank < segment.file_of_rank.size(); ++rank) {
    const int index = segment.file_of_rank[rank];
    if (index < 0) {
      absent.push_back(static_cast<int>(rank));
      continue;
    }
    const TraceFile& file = files_[static_cast<std::size_t>(index)];
    // Ranks are killed within a step of each other: one step less is how a run ends.
    if (file.steps >= steps - 1) continue;
    if (sentences++ < kMostSentences)
      incomplete_.push_back(fmt::format("rank {}{}: {} of {} steps", rank, attempt, file.steps, steps));
    else
      more.push_back(static_cast<int>(rank));
  }
  if (!more.empty()) incomplete_.push_back(fmt::format("{}{}: not all steps", named_ranks(more), attempt));
  if (!absent.empty()) incomplete_.push_back(fmt::format("{}{}: no trace", named_ranks(absent), attempt));
}

void TraceSet::for_each_stretch(const Segment& segment, const std::function<void(const Stretch&)>& visit) const {
  allow_open_files(segment.file_of_rank.size());
  std::vector<std::unique_ptr<RankStream>> streams(segment.file_of_rank.size());
  Stretch stretch;
  for (std::size_t rank = 0; rank < streams.size(); ++rank) {
    const int index = segment.file_of_rank[rank];
    if (index < 0) continue;
    streams[rank] = std::make_unique<RankStream>(files_[static_cast<std::size_t>(index)].path);
    stretch.ranks.push_back(rank);
  }
  stretch.records.resize(streams.size());
  for (std::int64_t first = segment.first_step; first <= segment.last_step; first += kStretchSteps) {
    stretch.first = first;
    stretch.count = std::min(kStretchSteps, segment.last_step - first + 1);
    for (const std::size_t rank : stretch.ranks) {
      stretch.records[rank].assign(static_cast<std::size_t>(stretch.count), trace::StepRecord{});
      streams[rank]->read(first, stretch.records[rank]);
    }
    visit(stretch);
  }
}

}  // namespace convoy::analysis
