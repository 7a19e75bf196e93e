// SPDX-License-Identifier: Apache-2.0
#include "libcore/analysis/own_work.h"

#include <algorithm>
#include <cmath>

namespace convoy::analysis {
namespace {

// Codes of times from 2 on: the logarithm begins at 1 ns.
constexpr double kFirstCode = 2.0;

// The seconds of every code: a table is a fifth of the time of exp2.
const std::vector<float>& table() {
  static const std::vector<float> seconds = [] {
    std::vector<float> made(std::size_t{1} << 16, 0.0F);
    for (std::size_t code = 2; code < made.size(); ++code)
      made[code] = static_cast<float>(1e-9 * std::exp2((static_cast<double>(code) - kFirstCode) / kCodesPerOctave));
    return made;
  }();
  return seconds;
}

}  // namespace

Code code_of(std::uint64_t nanoseconds) {
  if (nanoseconds == 0) return kNothing;
  const float code = std::log2(static_cast<float>(nanoseconds)) * static_cast<float>(kCodesPerOctave);
  return static_cast<Code>(std::min(kFirstCode + std::round(code), 65535.0));
}

double seconds_of(Code code) { return static_cast<double>(table()[code]); }

std::uint64_t own_ns(const trace::PhaseTime& time) {
  return time.wall_ns > time.delay_ns ? time.wall_ns - time.delay_ns : 0;
}

std::uint64_t training_ns(const trace::StepRecord& record) {
  std::uint64_t rest = record.duration_ns;
  for (std::size_t phase = 0; phase < trace::kPhases; ++phase)
    if (!trace::is_training(static_cast<trace::Phase>(phase))) rest -= std::min(rest, record.phases[phase].wall_ns);
  return rest;
}

OwnWork::OwnWork(std::size_t ranks, std::size_t steps) : OwnWork(std::vector<bool>(ranks, true), steps) {}

OwnWork::OwnWork(const std::vector<bool>& present, std::size_t steps) : steps_(steps) {
  for (const bool is_present : present)
    column_of_rank_.push_back(is_present ? static_cast<std::int32_t>(columns_++) : std::int32_t{-1});
  for (auto& phase : codes_) phase.assign(columns_ * steps, kNotRecorded);
}

void OwnWork::put(std::size_t step, std::size_t rank, const trace::StepRecord& record) {
  for (std::size_t phase = 0; phase < kComparedPhases.size(); ++phase)
    set(phase, step, rank, code_of(own_ns(record[kComparedPhases[phase]])));
}

std::optional<double> OwnWork::training_seconds(std::size_t step, std::size_t rank) const {
  double sum = 0.0;
  for (std::size_t phase = 0; phase < kTrainingPhases; ++phase) {
    const Code code = at(phase, step, rank);
    if (code == kNotRecorded) return std::nullopt;
    sum += seconds_of(code);
  }
  return sum;
}

}  // namespace convoy::analysis
