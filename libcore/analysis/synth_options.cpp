// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "libcore/analysis/synth.h"
#include "libcore/base/lists.h"
#include "libcore/base/units.h"
#include "libcore/trace/record_check.h"

namespace convoy::analysis {
namespace {

using trace::Phase;

// So that no time overflows: 30 years in ns are a twentieth of what 64 bits hold.
constexpr double kLongestRunSeconds = 1e9;
constexpr double kLongestSleep = 3600.0, kLargestFactor = 1000.0, kLargestJitter = 0.5;
constexpr std::int64_t kMostRanks = 16384;

std::string read_rank(KeyValues& keys, SynthFault& fault) {
  const std::optional<std::string> text = keys.take("rank");
  if (!text) return "lacks rank=N";
  const Parsed<std::int64_t> rank = parse_count(*text);
  if (!rank.ok() || rank.value < 0 || rank.value >= kMostRanks)
    return fmt::format("has rank={}, expected a rank from 0 to {}", *text, kMostRanks - 1);
  fault.rank = static_cast<int>(rank.value);
  return "";
}

std::string read_size(KeyValues& keys, SynthFault& fault) {
  const std::optional<std::string> factor = keys.take("factor"), sleep = keys.take("sleep");
  if (factor.has_value() == sleep.has_value()) return "needs one of factor=1.2 and sleep=20ms";
  if (sleep) {
    const Parsed<double> seconds = parse_seconds(*sleep);
    fault.sleep_seconds = seconds.value;
    if (seconds.ok() && seconds.value > 0.0 && seconds.value <= kLongestSleep) return "";
    return fmt::format("has sleep={}, expected a time above zero, at most 1h (20ms)", *sleep);
  }
  const Parsed<double> real = parse_real(*factor);
  fault.factor = real.value;
  if (real.ok() && real.value >= 1.0 && real.value <= kLargestFactor) return "";
  return fmt::format("has factor={}, expected a number between 1 and {}", *factor, kLargestFactor);
}

std::string read_phase(KeyValues& keys, SynthFault& fault) {
  const std::string name = keys.take("phase").value_or("");
  const std::optional<Phase> phase = trace::phase_of(name);
  if (!phase || *phase == Phase::kOther || trace::is_communication(*phase)) {
    return fmt::format("has phase={}, expected data, forward, backward, optimizer, checkpoint or evaluation", name);
  }
  fault.phase = *phase;
  return "";
}

std::string read_steps(KeyValues& keys, SynthFault& fault) {
  const std::optional<std::string> text = keys.take("steps");
  if (!text) return "";
  const Parsed<NumberRange> steps = parse_range(*text);
  if (!steps.ok() || steps.value.first < 1) return fmt::format("has steps={}, expected FIRST-LAST", *text);
  fault.first = steps.value.first;
  fault.last = steps.value.last;
  return "";
}

// The longest that a step of these options can take: every fault at once, and jitter at six of its deviations.
double longest_step_seconds(const SynthOptions& options) {
  double seconds = 2.0 * options.step_seconds;
  for (const SynthFault& fault : options.faults) seconds = seconds * fault.factor + fault.sleep_seconds;
  return 20.0 * seconds;
}

void check_faults(const SynthOptions& options, std::int64_t ranks, std::vector<std::string>& problems) {
  for (const SynthFault& fault : options.faults) {
    if (fault.rank >= ranks) {
      problems.push_back(fmt::format("--fault: rank {} does not exist; the layout has {}", fault.rank,
                                     ranks == 1 ? "rank 0 alone" : fmt::format("ranks 0 to {}", ranks - 1)));
    }
    if (fault.first > options.steps) {
      problems.push_back(
          fmt::format("--fault: steps from {} on are beyond the run's {} steps", fault.first, options.steps));
    }
  }
}

}  // namespace

std::string parse_synth_fault(std::string_view text, SynthFault& fault) {
  fault = {};
  constexpr std::string_view kSlow = "slow:";
  if (!text.starts_with(kSlow)) return "must begin with 'slow:', as in slow:rank=3,factor=1.2,phase=forward";
  KeyValues keys;
  std::string problem = keys.parse(text.substr(kSlow.size()));
  if (problem.empty()) problem = read_rank(keys, fault);
  if (problem.empty()) problem = read_size(keys, fault);
  if (problem.empty()) problem = read_phase(keys, fault);
  if (problem.empty()) problem = read_steps(keys, fault);
  return problem.empty() ? keys.unknown("rank, factor, sleep, phase, steps") : problem;
}

std::vector<std::string> problems_of(const SynthOptions& options) {
  std::vector<std::string> problems;
  const auto least = [&problems](std::string_view flag, std::int64_t value, std::int64_t most) {
    if (value < 1 || value > most)
      problems.push_back(fmt::format("{}: must be between 1 and {}, not {}", flag, most, value));
  };
  least("--layout: tp", options.tensor, kMostRanks);
  least("--layout: pp", options.pipeline, kMostRanks);
  least("--layout: dp", options.data, kMostRanks);
  if (!problems.empty()) return problems;
  const std::int64_t ranks = std::int64_t{options.tensor} * options.pipeline * options.data;
  least("--ranks", ranks, kMostRanks);
  least("--layers", options.layers, 1024);
  least("--micro-batches", options.micro_batches, 4096);
  least("--steps", options.steps, 10'000'000);
  least("--ranks-per-host", options.ranks_per_host, kMostRanks);
  if (!(options.step_seconds >= 1e-3 && options.step_seconds <= 3600.0))
    problems.push_back(fmt::format("--step-time: must be between 1ms and 1h, not {}s", options.step_seconds));
  if (!(options.jitter >= 0.0 && options.jitter <= kLargestJitter))
    problems.push_back(fmt::format("--jitter: must be between 0 % and 50 %, not {} %", 100.0 * options.jitter));
  if (options.evaluate_every < 0 || options.checkpoint_every < 0)
    problems.push_back("--evaluate-every, --checkpoint-every: must be at least 0, which means never");
  check_faults(options, ranks, problems);
  if (!problems.empty()) return problems;
  const double step = longest_step_seconds(options);
  if (step > 1e-9 * static_cast<double>(trace::kLongestStep))
    problems.push_back("--step-time and --fault: a step could last longer than 52 days; use less of them");
  if (step * static_cast<double>(options.steps) > kLongestRunSeconds)
    problems.push_back("--steps, --step-time and --fault: the run could last longer than 30 years; use less of them");
  return problems;
}

}  // namespace convoy::analysis
