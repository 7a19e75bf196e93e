// SPDX-License-Identifier: Apache-2.0
// What a record must satisfy to be used: whoever reads records of others leaves those out that do not, so that no sum
// of what is left wraps, and no difference is negative.
#pragma once

#include <cstdint>
#include <string_view>

#include "libcore/trace/format.h"

namespace convoy::trace {

// Larger numbers are no measurements. In double they are exact.
inline constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kLatestStart = std::uint64_t{1} << 62;  // ns: 146 years
inline constexpr std::uint64_t kLongestStep = std::uint64_t{1} << 52;  // ns: 52 days
inline constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 52;

// Empty if the record is sound, else what is wrong with it, as a clause: "its phases do not sum to its duration".
std::string_view problem_of(const StepRecord& record);
std::string_view problem_of(const Event& event, const Header& header);
// Without what only the header of its file can tell: group and peer.
std::string_view problem_of(const Event& event);

}  // namespace convoy::trace
