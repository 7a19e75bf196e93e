// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/record_check.h"

namespace convoy::trace {
namespace {

constexpr std::uint32_t kStepFlags = kEvaluated | kSaved | kSkipped | kFirst | kStopping;
constexpr std::uint8_t kEventFlags = kComplete | kOverlapped | kSaturated;

}  // namespace

std::string_view problem_of(const StepRecord& record) {
  if (record.step == 0 || record.step > kMostSteps) return "its step is no step number";
  if (record.start_ns > kLatestStart) return "its start is absurd";
  if (record.duration_ns == 0 || record.duration_ns > kLongestStep) return "its duration is none";
  if (record.tokens > kMostTokens) return "its tokens are absurd";
  if ((record.flags & ~kStepFlags) != 0 || record.reserved != 0) return "its flags are unknown";
  std::uint64_t sum = 0;  // of 13 numbers below 2^53
  for (const PhaseTime& phase : record.phases) {
    if (phase.wall_ns > record.duration_ns) return "a phase is longer than the step";
    if (phase.delay_ns > phase.wall_ns) return "a phase has more run-delay than time";
    sum += phase.wall_ns;
  }
  return sum == record.duration_ns ? "" : "its phases do not sum to its duration";
}

std::string_view problem_of(const Event& event) {
  if (event.step == 0) return "its step is no step number";
  if (event.start_ns > kLatestStart) return "its start is absurd";
  if (static_cast<std::size_t>(event.operation) >= kOperations) return "its operation is unknown";
  if (static_cast<std::size_t>(event.phase) >= kPhases) return "its phase is unknown";
  if ((event.flags & ~kEventFlags) != 0 || event.reserved != 0) return "its flags are unknown";
  return "";
}

std::string_view problem_of(const Event& event, const Header& header) {
  if (const std::string_view problem = problem_of(event); !problem.empty()) return problem;
  if (event.group == Event::kNoGroup) return "";
  if (event.group >= header.groups.size()) return "its group is not one of the header's";
  if (is_message(event.operation) && event.peer >= header.groups[event.group].members.size())
    return "its peer is no member of its group";
  return "";
}

}  // namespace convoy::trace
