// SPDX-License-Identifier: Apache-2.0
#include "libcore/config/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "libcore/base/lists.h"
#include "libcore/base/units.h"
#include "libcore/config/run_options.h"
#include "libcore/trace/recorder.h"

namespace convoy::config {
namespace {

constexpr std::array<std::pair<std::string_view, FaultKind>, 6> kKinds = {{{"kill", FaultKind::kKill},
                                                                           {"hang", FaultKind::kHang},
                                                                           {"nan-gradient", FaultKind::kNanGradient},
                                                                           {"flip-bit", FaultKind::kFlipBit},
                                                                           {"slow", FaultKind::kSlow},
                                                                           {"slow-write", FaultKind::kSlowWrite}}};
constexpr std::array<Phase, 4> kSlowPhases = {Phase::kData, Phase::kForward, Phase::kBackward, Phase::kOptimizer};

std::optional<FaultKind> kind_of(std::string_view name) {
  for (const auto& [known, kind] : kKinds) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

std::string read_number(KeyValues& keys, std::string_view key, std::int64_t least, std::int64_t& value) {
  const std::optional<std::string> text = keys.take(key);
  if (!text) return fmt::format("lacks {}=N", key);
  const Parsed<std::int64_t> parsed = parse_count(*text);
  value = parsed.value;
  return parsed.ok() && value >= least ? ""
                                       : fmt::format("has {}={}, expected a number of at least {}", key, *text, least);
}

std::string read_rank(KeyValues& keys, Fault& fault) {
  std::int64_t rank = 0;
  const std::string problem = read_number(keys, "rank", 0, rank);
  fault.rank = static_cast<int>(std::min<std::int64_t>(rank, std::numeric_limits<int>::max()));
  return problem;
}

std::string read_moment(KeyValues& keys, Fault& fault) {
  const std::string problem = read_number(keys, "step", 1, fault.first);
  fault.last = fault.first;
  return problem.empty() ? read_rank(keys, fault) : problem;
}

std::string read_steps(KeyValues& keys, Fault& fault) {
  const std::optional<std::string> text = keys.take("steps");
  if (!text) return "";
  trace::Window steps;
  if (const std::string problem = parse_steps(*text, steps); !problem.empty())
    return fmt::format("has steps={}, which {}", *text, problem);
  fault.first = steps.first;
  fault.last = steps.last;
  return "";
}

std::string read_delay(KeyValues& keys, Fault& fault) {
  const std::optional<std::string> factor = keys.take("factor"), sleep = keys.take("sleep");
  if (factor.has_value() == sleep.has_value()) return "needs one of factor=1.5 and sleep=20ms";
  if (sleep) {
    const Parsed<double> seconds = parse_seconds(*sleep);
    fault.sleep_seconds = seconds.value;
    return seconds.ok() && seconds.value > 0.0 ? ""
                                               : fmt::format("has sleep={}, expected a time above zero (20ms)", *sleep);
  }
  const Parsed<double> real = parse_real(*factor);
  fault.factor = real.value;
  return real.ok() && real.value >= 1.0 ? "" : fmt::format("has factor={}, expected a number of at least 1", *factor);
}

std::string read_slow(KeyValues& keys, Fault& fault) {
  std::string problem = read_rank(keys, fault);
  if (problem.empty()) problem = read_delay(keys, fault);
  if (problem.empty()) problem = read_steps(keys, fault);
  if (!problem.empty()) return problem;
  const std::string phase = keys.take("phase").value_or("");
  const std::optional<Phase> known = trace::phase_of(phase);
  if (!known || std::ranges::find(kSlowPhases, *known) == kSlowPhases.end())
    return fmt::format("has phase={}, expected data, forward, backward or optimizer", phase);
  fault.phase = *known;
  return "";
}

std::string read_slow_write(KeyValues& keys, Fault& fault) {
  fault.rank = -1;
  if (keys.contains("rank")) {
    const std::string problem = read_rank(keys, fault);
    if (!problem.empty()) return problem;
  }
  const std::string text = keys.take("bytes-per-second").value_or("");
  const Parsed<std::int64_t> bytes = parse_bytes(text);
  fault.bytes_per_second = static_cast<double>(bytes.value);
  return bytes.ok() && bytes.value > 0 ? ""
                                       : fmt::format("has bytes-per-second={}, expected a size above zero (50M)", text);
}

std::string_view known_keys(FaultKind kind) {
  if (kind == FaultKind::kSlow) return "rank, factor, sleep, phase, steps";
  return kind == FaultKind::kSlowWrite ? "bytes-per-second, rank" : "step, rank";
}

}  // namespace

std::string parse_fault(std::string_view text, Fault& fault) {
  fault = {};
  const std::string_view name = text.substr(0, text.find(':'));
  const std::optional<FaultKind> kind = kind_of(name);
  if (!kind) return fmt::format("names '{}', expected kill, hang, nan-gradient, flip-bit, slow or slow-write", name);
  fault.kind = *kind;
  KeyValues keys;
  std::string problem = name.size() < text.size() ? keys.parse(text.substr(name.size() + 1)) : "";
  if (!problem.empty()) return problem;
  if (*kind == FaultKind::kSlow) {
    problem = read_slow(keys, fault);
  } else if (*kind == FaultKind::kSlowWrite) {
    problem = read_slow_write(keys, fault);
  } else {
    problem = read_moment(keys, fault);
  }
  return problem.empty() ? keys.unknown(known_keys(*kind)) : problem;
}

}  // namespace convoy::config
