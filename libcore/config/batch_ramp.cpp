// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/batch_ramp.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "libcore/base/error.h"
#include "libcore/base/units.h"

namespace convoy::config {
namespace {

std::int64_t divided_up(std::int64_t count, std::int64_t unit) { return count / unit + (count % unit == 0 ? 0 : 1); }

bool parse_point(std::string_view text, RampPoint& point) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const Parsed<std::int64_t> tokens = parse_count(text.substr(0, colon)), batch = parse_count(text.substr(colon + 1));
  point = {tokens.value, batch.value};
  return tokens.ok() && batch.ok() && tokens.value >= 0 && batch.value >= 1;
}

}  // namespace

std::string parse_ramp(const std::string& text, std::vector<RampPoint>& ramp) {
  ramp.clear();
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    RampPoint point;
    if (!parse_point(std::string_view(text).substr(begin, end - begin), point))
      return "is no list of TOKENS:SEQUENCES (0:32,1B:64)";
    if (ramp.empty() && point.tokens != 0) return "does not begin at token 0 (0:32,1B:64)";
    if (!ramp.empty() && (point.tokens <= ramp.back().tokens || point.batch <= ramp.back().batch))
      return "does not rise, tokens and sequences alike, from one entry to the next (0:32,1B:64)";
    ramp.push_back(point);
    begin = end + 1;
  }
  return "";
}

GlobalBatches::GlobalBatches(const std::vector<RampPoint>& ramp, std::int64_t sequence_length) {
  check(!ramp.empty() && sequence_length > 0, "a ramp has sizes, and samples have tokens");
  stages_.clear();
  for (const RampPoint& point : ramp) stages_.push_back({divided_up(point.tokens, sequence_length), point.batch});
}

// Stages may share their first sample where few tokens lie between them: the last of them holds.
std::size_t GlobalBatches::stage_at(std::int64_t consumed_samples) const {
  std::size_t stage = stages_.size() - 1;
  while (stage > 0 && stages_[stage].first_sample > consumed_samples) --stage;
  return stage;
}

std::int64_t GlobalBatches::at(std::int64_t consumed_samples) const {
  return stages_[stage_at(consumed_samples)].batch;
}

std::vector<std::int64_t> GlobalBatches::sizes() const {
  std::vector<std::int64_t> sizes;
  for (const Stage& stage : stages_) sizes.push_back(stage.batch);
  return sizes;
}

std::int64_t GlobalBatches::equal_steps(std::int64_t consumed_samples, std::int64_t end) const {
  const std::size_t stage = stage_at(consumed_samples);
  if (stage + 1 < stages_.size()) end = std::min(end, stages_[stage + 1].first_sample);
  return divided_up(end - consumed_samples, stages_[stage].batch);
}

std::int64_t GlobalBatches::advance(std::int64_t consumed_samples, std::int64_t steps) const {
  while (steps > 0) {
    const std::int64_t equal = std::min(steps, equal_steps(consumed_samples, std::numeric_limits<std::int64_t>::max()));
    consumed_samples += equal * at(consumed_samples);
    steps -= equal;
  }
  return consumed_samples;
}

std::int64_t GlobalBatches::steps_to(std::int64_t samples) const {
  std::int64_t consumed = 0, steps = 0;
  while (consumed < samples) {
    const std::int64_t equal = equal_steps(consumed, samples);
    std::int64_t read = 0;
    steps += equal;
    // Beyond what can be counted is beyond `samples`.
    if (__builtin_mul_overflow(equal, at(consumed), &read) || __builtin_add_overflow(consumed, read, &consumed))
      return steps;
  }
  return steps;
}

}  // namespace convoy::config
