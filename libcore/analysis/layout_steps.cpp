// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/layout_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/analysis/statistics.h"

namespace convoy::analysis {
namespace {

using trace::Phase;

constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();
constexpr double kWarmUpTolerance = 0.2;

// What the means of a rank are made of; those of steps that may be warm-up wait until that is known.
struct RankStep {
  std::size_t step = 0;
  std::size_t rank = 0;
  RankMeans values;
};

RankMeans values_of(const trace::StepRecord& record) {
  RankMeans values;
  for (std::size_t i = 0; i < trace::kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    const double own = 1e-9 * static_cast<double>(own_ns(record.phases[i]));
    const double delay = 1e-9 * static_cast<double>(std::min(record.phases[i].delay_ns, record.phases[i].wall_ns));
    values.delay += delay;
    values.duration += own + delay;
    if (!trace::is_training(phase)) continue;
    if (trace::is_communication(phase)) {
      values.communication += own + delay;
    } else if (phase >= Phase::kData && phase <= Phase::kOptimizer) {
      values.working += own + delay;
      values.working_delay += delay;
    }
  }
  return values;
}

void add(RankMeans& sum, const RankMeans& values) {
  sum.communication += values.communication;
  sum.delay += values.delay;
  sum.duration += values.duration;
  sum.working += values.working;
  sum.working_delay += values.working_delay;
}

std::vector<bool> ranks_with_a_trace(std::size_t world, std::span<const Segment* const> segments) {
  std::vector<bool> present(world);
  for (const Segment* segment : segments)
    for (std::size_t rank = 0; rank < world; ++rank)
      if (segment->file_of_rank[rank] >= 0) present[rank] = true;
  return present;
}

class Collector {
 public:
  Collector(const TraceSet& traces, std::span<const Segment* const> segments) : traces_(traces) {
    const Segment& newest = *segments.back();
    result_.header = newest.header;
    result_.comparison.layout = layout_of(newest.header);
    result_.comparison.threads = newest.header.threads;
    std::size_t steps = 0;
    for (const Segment* segment : segments) steps += steps_of(*segment);
    const auto world = static_cast<std::size_t>(newest.header.world);
    result_.comparison.ranks.resize(world);
    result_.comparison.own = OwnWork(ranks_with_a_trace(world, segments), steps);
    result_.sums.resize(steps);
    result_.all_seconds.assign(steps, kAbsent);
    result_.ranks.resize(world);
    for (const Segment* segment : segments) add(*segment);
    finish();
  }
  LayoutSteps take() { return std::move(result_); }

 private:
  static std::size_t steps_of(const Segment& segment) {
    return static_cast<std::size_t>(segment.last_step - segment.first_step + 1);
  }

  void add(const Segment& segment) {
    const std::size_t begin = next_;
    const std::size_t count = steps_of(segment);
    early_end_ = begin + std::max<std::size_t>(count / 10, 1);
    early_.clear();
    place_ranks(segment);
    if (count > 0) traces_.for_each_stretch(segment, [&](const TraceSet::Stretch& stretch) { add(stretch); });
    const std::span<const float> seconds = std::span(result_.all_seconds).subspan(begin, count);
    const std::size_t warm_up = segment.begins_attempt ? warm_up_of(seconds) : 0;
    for (std::size_t step = begin; step < begin + count; ++step) {
      const bool recorded = !std::isnan(result_.all_seconds[step]);
      result_.recorded_steps += recorded ? 1 : 0;
      if (recorded && step < begin + warm_up) ++result_.warm_up_steps;
      result_.comparison.step_seconds.push_back(step < begin + warm_up ? kAbsent : result_.all_seconds[step]);
    }
    for (const RankStep& early : early_)
      if (early.step >= begin + warm_up) count_in(early.rank, early.values);
  }

  void place_ranks(const Segment& segment) {
    for (std::size_t rank = 0; rank < segment.file_of_rank.size(); ++rank) {
      if (segment.file_of_rank[rank] < 0) continue;
      const trace::Header& header = traces_.files()[static_cast<std::size_t>(segment.file_of_rank[rank])].header;
      RankPlace& place = result_.comparison.ranks[rank];
      if (place.present && place.host != header.host) result_.comparison.hosts_are_constant = false;
      place = {.at = header.at, .host = header.host, .present = true};
    }
  }

  void add(const TraceSet::Stretch& stretch) {
    std::vector<float> seconds;
    for (std::int64_t i = 0; i < stretch.count; ++i, ++next_) {
      result_.comparison.steps.push_back(stretch.first + i);
      seconds.clear();
      for (const std::size_t rank : stretch.ranks) {
        const trace::StepRecord& record = stretch.records[rank][static_cast<std::size_t>(i)];
        if (record.duration_ns == 0) continue;
        add(rank, record);
        seconds.push_back(static_cast<float>(1e-9 * static_cast<double>(training_ns(record))));
      }
      if (const auto middle = median(std::span<float>(seconds))) result_.all_seconds[next_] = *middle;
    }
  }

  void add(std::size_t rank, const trace::StepRecord& record) {
    result_.comparison.own.put(next_, rank, record);
    StepSums& sums = result_.sums[next_];
    for (std::size_t phase = 0; phase < trace::kPhases; ++phase) {
      const trace::PhaseTime& time = record.phases[phase];
      sums.own[phase] += static_cast<double>(own_ns(time));
      sums.delay[phase] += static_cast<double>(std::min(time.delay_ns, time.wall_ns));
    }
    ++sums.ranks;
    sums.tokens = std::max(sums.tokens, record.tokens);
    ++result_.ranks[rank].steps;
    const RankMeans values = values_of(record);
    if (next_ < early_end_)
      early_.push_back({next_, rank, values});
    else
      count_in(rank, values);
  }

  void count_in(std::size_t rank, const RankMeans& values) {
    counted_.resize(result_.ranks.size());
    ++counted_[rank];
    analysis::add(result_.ranks[rank], values);
  }

  void finish() {
    counted_.resize(result_.ranks.size());
    for (std::size_t rank = 0; rank < result_.ranks.size(); ++rank) {
      RankMeans& means = result_.ranks[rank];
      result_.comparison.starved.push_back(means.working > 0.0 ? static_cast<float>(means.working_delay / means.working)
                                                               : 0.0F);
      if (counted_[rank] == 0) continue;
      const double count = static_cast<double>(counted_[rank]);
      for (double* value : {&means.communication, &means.delay, &means.duration, &means.working, &means.working_delay})
        *value /= count;
    }
  }

  const TraceSet& traces_;
  LayoutSteps result_;
  std::size_t next_ = 0;       // column
  std::size_t early_end_ = 0;  // columns before it may be warm-up
  std::vector<RankStep> early_;
  std::vector<std::int64_t> counted_;  // [rank]
};

}  // namespace

std::size_t warm_up_of(std::span<const float> step_seconds) {
  if (step_seconds.size() < 3) return 0;
  const std::size_t most = std::max<std::size_t>(step_seconds.size() / 10, 1);
  std::vector<float> rest = present(step_seconds.subspan(most));
  const std::optional<float> usual = median(std::span<float>(rest));
  if (!usual || *usual <= 0.0F) return 1;
  std::size_t steps = 1;
  while (steps < most &&
         !(std::abs(static_cast<double>(step_seconds[steps]) / static_cast<double>(*usual) - 1.0) < kWarmUpTolerance))
    ++steps;
  return steps;
}

LayoutSteps collect(const TraceSet& traces, std::span<const Segment* const> segments) {
  return Collector(traces, segments).take();
}

}  // namespace convoy::analysis
